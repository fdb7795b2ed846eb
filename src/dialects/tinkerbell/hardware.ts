import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { agentKey } from "./state.ts";

export type AnyHardware = KubeObject & { readonly spec?: JsonObject };

/** Names the agent where the specification has no field for it. */
const agentAnnotation = "tinkerbell.org/agent-id";

/** Ids the agent of this machine may use: the specified one, the annotation, or any interface's MAC address. */
export function agentsOfHardware({ metadata, spec = {} }: AnyHardware): readonly string[] {
  const named = textOf(spec["agentID"]) || (metadata.annotations?.[agentAnnotation] ?? "");
  if (named !== "") return [named];
  return [...new Map(addressesOf(spec).map((address) => [agentKey(address), address])).values()];
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** MAC addresses in document order; v1alpha1 lists interfaces, v1alpha2 maps them by address. */
function addressesOf({ interfaces, networkInterfaces }: JsonObject): readonly string[] {
  if (isJsonObject(networkInterfaces)) return Object.keys(networkInterfaces);
  if (!Array.isArray(interfaces)) return [];
  return interfaces
    .map((one: JsonValue) => (isJsonObject(one) && isJsonObject(one["dhcp"]) ? textOf(one["dhcp"]["mac"]) : ""))
    .filter((mac) => mac !== "");
}

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
