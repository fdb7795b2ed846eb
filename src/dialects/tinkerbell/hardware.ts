import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { agentKey } from "./state.ts";

/** A Hardware of either version. */
export type AnyHardware = KubeObject & { readonly spec?: JsonObject };

/** Where the agent of a machine is told when its specification has no word for it. */
const agentAnnotation = "tinkerbell.org/agent-id";

/**
 * What the agent on this machine may call itself: as the specification says, or the annotation; else by the address of any of its interfaces,
 * because which one a machine starts from is not known here. Each agent once, in the order of the document; empty when nothing of it is known.
 */
export function agentsOfHardware({ metadata, spec = {} }: AnyHardware): readonly string[] {
  const named = textOf(spec["agentID"]) || (metadata.annotations?.[agentAnnotation] ?? "");
  if (named !== "") return [named];
  return [...new Map(addressesOf(spec).map((address) => [agentKey(address), address])).values()];
}

/** What is not a text counts as none. */
const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** MAC addresses, in the order they are written; version 1 has a list of interfaces, version 2 names them by address. */
function addressesOf({ interfaces, networkInterfaces }: JsonObject): readonly string[] {
  if (isJsonObject(networkInterfaces)) return Object.keys(networkInterfaces);
  if (!Array.isArray(interfaces)) return [];
  return interfaces
    .map((one: JsonValue) => (isJsonObject(one) && isJsonObject(one["dhcp"]) ? textOf(one["dhcp"]["mac"]) : ""))
    .filter((mac) => mac !== "");
}

/** The interfaces of a released Hardware with the netboot permission set, or undefined when they are so already. */
export function withNetboot({ spec = {} }: AnyHardware, isAllowed: boolean): JsonValue | undefined {
  const { interfaces } = spec;
  if (!Array.isArray(interfaces)) return undefined;
  const list: readonly JsonValue[] = interfaces;
  const changed = list.map((one) => {
    if (!isJsonObject(one)) return one;
    const netboot = isJsonObject(one["netboot"]) ? one["netboot"] : {};
    return netboot["allowPXE"] === isAllowed ? one : { ...one, netboot: { ...netboot, allowPXE: isAllowed } };
  });
  return changed.every((one, at) => one === list[at]) ? undefined : changed;
}
