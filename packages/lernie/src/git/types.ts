/** 40 lower-case hexadecimal digits. */
export type Oid = string;

export type Mode = "100644" | "100755" | "120000" | "40000";

/** One entry of a tree. `name` is raw bytes: a file name need not be UTF-8. */
export interface TreeEntry {
	readonly mode: Mode;
	readonly name: Buffer;
	readonly oid: Oid;
}

/** `seconds` is the committer's time since 1970; `message` is everything after the headers. */
export interface Commit {
	readonly oid: Oid;
	readonly tree: Oid;
	readonly parents: readonly Oid[];
	readonly seconds: number;
	readonly message: string;
}

/** What a ref must be or becomes. An `old` of undefined says that the ref must not exist; only `set` does not look. */
export type RefOp =
	| { readonly kind: "verify"; readonly ref: string; readonly old: Oid | undefined }
	| { readonly kind: "create"; readonly ref: string; readonly oid: Oid }
	| { readonly kind: "update"; readonly ref: string; readonly oid: Oid; readonly old: Oid | undefined }
	| { readonly kind: "set"; readonly ref: string; readonly oid: Oid }
	| { readonly kind: "delete"; readonly ref: string; readonly old: Oid };

/** `ok: false`: a compare failed, a ref existed or was locked, and nothing was written; `detail` is git's sentence. */
export type TransactResult = { readonly ok: true } | { readonly ok: false; readonly detail: string };

/** What was written: objects, their bytes on disk, and the fsync calls it took. */
export interface ObjectStats {
	readonly objects: number;
	readonly bytes: number;
	readonly fsyncs: number;
}

/** The body of an object with its type: `blob`, `tree`, `commit` or `tag`. */
export interface RawObject {
	readonly type: string;
	readonly body: Buffer;
}
