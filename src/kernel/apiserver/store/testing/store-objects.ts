import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { encodeRecord, keyText } from "../codec.ts";
import type { CommitBatch, DiskWrite } from "../disk.ts";
import type { ObjectText } from "../object-bytes.ts";
import { ownBuffers } from "../slab.ts";
import type { Collection, Entry, Store, StoreKey } from "../store.ts";

// Small objects for the tests of this folder.

export const items: Collection = { group: "test.slipway.dev", resource: "items" };
export const pods: Collection = { group: "", resource: "pods" };

export const keyOf = (name: string, namespace = "default", collection = items): StoreKey => ({
  ...collection,
  namespace,
  name,
});

/** An object for a key. Its uid follows from its name, so that it is the same object each time. */
export function objectOf(
  key: StoreKey,
  value: JsonValue = 1,
  metadata: Readonly<Record<string, JsonValue>> = {},
): JsonObject {
  return {
    apiVersion: key.group === "" ? "v1" : `${key.group}/v1`,
    kind: "Item",
    metadata: {
      name: key.name,
      ...(key.namespace === "" ? {} : { namespace: key.namespace }),
      uid: `uid-${key.namespace}-${key.name}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    spec: { value },
  };
}

export const putItem = (store: Store, name: string, value: JsonValue = 1, namespace = "default"): Promise<Entry> => {
  const key = keyOf(name, namespace);
  return store.write((transaction) => transaction.put(key, objectOf(key, value)));
};

export const removeItem = (store: Store, name: string, namespace = "default"): Promise<Entry> =>
  store.write((transaction) => transaction.remove(keyOf(name, namespace)));

export const names = (entries: readonly Entry[]): readonly string[] => entries.map(({ key }) => key.name);

/** `name=value@revision` of each entry, which is all that the tests tell objects apart by. */
export const states = (entries: readonly Entry[]): readonly string[] =>
  entries.map((entry) => {
    const parsed = JSON.parse(entry.bytes.toString("utf8")) as {
      readonly metadata: { readonly name: string; readonly resourceVersion: string };
      readonly spec: { readonly value: unknown };
    };
    return `${parsed.metadata.name}=${JSON.stringify(parsed.spec.value)}@${parsed.metadata.resourceVersion}`;
  });

/** A text of one piece, whatever it says. */
export function plainText(source: string): ObjectText {
  const bytes = Buffer.byteLength(source);
  return { pieces: [{ source, bytes }], bytes, parts: { spec: [0, 0], status: [0, 0] } };
}

/** Runs `use` with an empty directory that is gone afterwards. */
export async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-disk-"));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A write as the disk gets it. Its record says `modify` when there was a revision before. */
export function diskWrite(
  name: string,
  revision: number,
  { prev = 0, value = 1, deletes = false }: { prev?: number; value?: JsonValue; deletes?: boolean } = {},
): DiskWrite {
  const key = keyOf(name);
  const type = deletes ? "delete" : prev === 0 ? "add" : "modify";
  const text = plainText(JSON.stringify(objectOf(key, value)));
  const createRevision = prev === 0 ? revision : 1;
  const fields = { type, prevRevision: prev, key: keyText(key), createRevision, revision, text } as const;
  return { revision, deletes, record: encodeRecord(fields, ownBuffers), inlined: undefined };
}

export const diskBatch = (
  writes: readonly DiskWrite[],
  revision?: number,
  system: CommitBatch["system"] = [],
): CommitBatch => ({
  writes,
  system,
  revision: revision ?? writes.at(-1)?.revision ?? 0,
});
