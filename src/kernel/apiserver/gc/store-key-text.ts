import type { StoreKey } from "../store/store.ts";

/** A key as one text, for queues: its four parts with NUL between them, which no part can hold. Order is that of the store's keys. */
export const keyText = ({ group, resource, namespace, name }: StoreKey): string =>
  [group, resource, namespace, name].join("\u0000");

/** Undoes keyText. */
export function parseKeyText(text: string): StoreKey {
  const [group = "", resource = "", namespace = "", name = ""] = text.split("\u0000");
  return { group, resource, namespace, name };
}
