export * from "./errors.ts";
export * from "./pack.ts";
export * from "./store.ts";
export * from "./unpack.ts";
export * from "./words.ts";
export * from "./read-tar.ts";
export { type ArchiveEntry, readArchive } from "./read-archive.ts";
export { BlobRefusal, BlobStore, segmentsOf } from "./blob-store.ts";
