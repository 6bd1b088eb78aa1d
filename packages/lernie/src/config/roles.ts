import { LernieError, strictUtf8 } from "@lernie/contract";
import { modelIdDefect, type ProvidersFile, providersSchema, type RoleFile } from "@lernie/contract/config";
import { type ConfigFiles, required } from "./files.ts";
import { SHIPPED_SOUL } from "./shipped.ts";
import { readYaml } from "./strict-yaml.ts";

/** One role with everything filled in (`spec/tools.md` §19). */
export interface RoleConfig {
	readonly name: string;
	/** A row of models.yaml. */
	readonly provider: string;
	readonly model: string;
	readonly tools: readonly string[];
	/** The text that follows goal and name in the system slot. */
	readonly soul: string;
	readonly maxTokens: number;
	readonly temperature?: number;
	readonly reasoning?: unknown;
}

export const PROVIDERS_FILE = "providers.yaml";
const MAX_TOKENS = 4096;

export const soulPath = (role: string): string => `souls/${role}.md`;

/** Throws `MODEL_NAME` for a model id that no transcript can hold (CONTRACTS §2). */
export const checkModelName = (model: string): void => {
	const why = modelIdDefect(model);
	if (why !== undefined) throw new LernieError("MODEL_NAME", `model ${JSON.stringify(model)}: ${why}`, { model });
};

/** `providers.yaml` as written. Throws `CONFIG` with file, line and column. */
export const readProvidersFile = async (files: ConfigFiles): Promise<ProvidersFile> =>
	readYaml(providersSchema, files.label(PROVIDERS_FILE), await required(files, PROVIDERS_FILE));

const soulOf = async (files: ConfigFiles, name: string, role: RoleFile): Promise<string> => {
	if (role.instructions !== undefined) return role.instructions;
	const path = soulPath(name);
	const bytes = await files.read(path);
	if (bytes === undefined) return SHIPPED_SOUL;
	const text = strictUtf8(bytes);
	if (text !== undefined) return text;
	throw new LernieError("CONFIG", `${files.label(path)}: not UTF-8`, { file: files.label(path) });
};

/** A role by its name. Throws `CONFIG`, naming the roles that are listed, where this one is not. */
export const readRole = async (files: ConfigFiles, { roles }: ProvidersFile, name: string): Promise<RoleConfig> => {
	const role = Object.hasOwn(roles, name) ? roles[name] : undefined;
	if (role === undefined) {
		const listed = Object.keys(roles);
		const instead = listed.length === 0 ? "none is listed" : `listed are ${listed.join(", ")}`;
		const file = files.label(PROVIDERS_FILE);
		throw new LernieError("CONFIG", `${file}: there is no role ${JSON.stringify(name)}; ${instead}`, {
			file,
			role: name,
			listed,
		});
	}
	return {
		name,
		provider: role.provider,
		model: role.model,
		tools: role.tools,
		soul: await soulOf(files, name, role),
		maxTokens: role.max_tokens ?? MAX_TOKENS,
		...(role.temperature === undefined ? {} : { temperature: role.temperature }),
		...(role.reasoning === undefined ? {} : { reasoning: role.reasoning }),
	};
};
