import { readlinkSync } from "node:fs";
import { identityOf, isAlive, type ProcessIdentity, formatIdentity } from "#lib/base/index.node.ts";
import type { Clock, Logger } from "#lib/base/index.ts";
import type { Runtime } from "../contract.ts";
import { type AddressSurroundings, engineAddress, formatAddress, isLocal } from "./engine/engine-address.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { listOf, objectOf, textOf } from "./engine/members.ts";
import { labels } from "./names.ts";

export interface OpenDockerOptions {
  readonly surroundings: AddressSurroundings;
  /** Identity of the control plane; see `DockerRuntimeOptions`. */
  readonly store: string;
  readonly isEphemeral: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OpenedDocker {
  readonly runtime: Runtime;
  /** For people: `Docker Engine 20.10.24 at unix:///var/run/docker.sock`. */
  readonly title: string;
}

/** Checks the engine and removes leftovers. Rejects as `engine-address`, `engine-unreachable` or `engine-too-old`. */
export async function openDockerRuntime(options: OpenDockerOptions): Promise<OpenedDocker> {
  const address = engineAddress(options.surroundings);
  if (!address.ok) throw address.error;
  const { EngineClient } = await import("./engine/engine-client.ts");
  const { createDockerRuntime } = await import("./docker-runtime.ts");
  const engine = new EngineClient(address.value, options.clock);
  try {
    const version = textOf(await engine.object("GET", "/version"), "Version");
    if (isLocal(address.value)) await removeLeftovers(engine, options.log);
    const { store, clock, log } = options;
    const owner = options.isEphemeral ? { owner: formatOwner(ownIdentity()) } : {};
    const runtime = createDockerRuntime({ address: address.value, version, store, ...owner, clock, log });
    return { runtime, title: `Docker Engine ${version} at ${formatAddress(address.value)}` };
  } finally {
    engine.close();
  }
}

/** Pids are unique within one boot and one pid namespace. */
interface OwnerIdentity extends ProcessIdentity {
  readonly space: string;
}

const ownIdentity = (): OwnerIdentity => ({ ...identityOf(process.pid), space: processSpace() });
const formatOwner = ({ space, ...identity }: OwnerIdentity): string => `${formatIdentity(identity)} ${space}`;

function parseOwner(text: string): OwnerIdentity | undefined {
  const [, pid, startTicks = "", boot = "", space = ""] = /^(\d+) (\d+) (\S+) (\S+)$/.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startTicks, boot, space };
}

function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Without /proc nothing is known to have ended, and nothing is removed.
    return "";
  }
}

/** Certain that the owner has ended. In another pid namespace only a reboot is certain: pids differ there. */
function isGone(text: string): boolean {
  const owner = parseOwner(text);
  const own = ownIdentity();
  if (owner === undefined || own.boot === undefined) return false;
  return owner.boot !== own.boot || (owner.space === own.space && !isAlive(owner));
}

/** Containers first: they hold the others. Another process may remove them at the same time. */
async function removeLeftovers(engine: EngineClient, log: Logger): Promise<void> {
  const query = { all: "1", filters: JSON.stringify({ label: [labels.owner] }) };
  for (const { list, path, key } of [
    { list: "/containers/json", path: "/containers", key: "Id" },
    { list: "/volumes", path: "/volumes", key: "Name" },
    { list: "/networks", path: "/networks", key: "Id" },
  ]) {
    for (const found of listOf(await engine.call("GET", list, { query }), "Volumes")) {
      if (!isGone(textOf(objectOf(found, "Labels"), labels.owner))) continue;
      log.info("removing leftovers of a killed command from the engine", { name: textOf(found, key) });
      const forced =
        path === "/networks" ? {} : { query: { force: "1", ...(path === "/containers" ? { v: "1" } : {}) } };
      await engine.call("DELETE", `${path}/${textOf(found, key)}`, forced).catch(() => undefined);
    }
  }
}
