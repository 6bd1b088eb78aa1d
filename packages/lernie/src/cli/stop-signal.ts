const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * From here on these signals no longer end the process but fire what is returned; each is the stop (CONTRACTS §1). A drive
 * that is told to stop ends by itself, within its children's grace.
 */
export const stopOnSignals = (): AbortSignal => {
	const controller = new AbortController();
	for (const signal of SIGNALS) process.on(signal, () => controller.abort());
	return controller.signal;
};
