import { hashName } from "#lib/base/index.node.ts";

const maxLength = 63;

/** The key of an agent as an object name. Different keys with one name are distinguished by a hash (`isTaken`). */
export function agentName(key: string, isTaken = false): string {
  const plain = key
    .replaceAll(/[^A-Za-z0-9-]/g, "-")
    .replaceAll(/-{2,}/g, "-")
    .toLowerCase()
    .slice(0, isTaken ? maxLength - 9 : maxLength)
    .replaceAll(/^-|-$/g, "");
  if (plain !== "" && !isTaken) return plain;
  const hash = hashName([key], 8);
  return plain === "" ? hash : `${plain}-${hash}`;
}
