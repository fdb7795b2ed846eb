import { hashName } from "#lib/base/index.node.ts";
import { agentKey } from "../state.ts";

const maxLength = 63;

/** An agent's id as an object name. Different ids with one name are distinguished by a hash (`isTaken`). */
export function agentName(agentID: string, isTaken = false): string {
  const key = agentKey(agentID.trim());
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
