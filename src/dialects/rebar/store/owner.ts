import type { OwnerReference, Stored } from "#kernel/model/index.ts";

/** Keeps an object only as long as its owner. */
export const ownerOf = ({ apiVersion, kind, metadata }: Stored): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
});
