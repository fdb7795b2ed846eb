import { createHash } from "node:crypto";
import type { Context, Machine } from "../objects.ts";
import type { World } from "../world.ts";

/** An agent that this server runs for a machine in one of its contexts. */
export interface WantedAgent {
  /** Of machine, context and what the context is made of: another one replaces the agent. */
  readonly key: string;
  readonly machine: string;
  readonly machineName: string;
  readonly context: string;
  readonly engine: string;
  readonly image: string;
  /** The image brings an agent of its own; otherwise the agent runs in this process. */
  readonly isExternal: boolean;
}

/** By key. Contexts without an object of their own are served by agents elsewhere. */
export function wantedAgents(world: World): ReadonlyMap<string, WantedAgent> {
  const agents = world.all("machines").flatMap((machine) => {
    const context = machine.Context === "" ? undefined : world.get("contexts", machine.Context);
    return context === undefined ? [] : [agentOf(machine, context)];
  });
  return new Map(agents.map((agent) => [agent.key, agent]));
}

function agentOf(machine: Machine, { Name, Engine, Image, Meta }: Context): WantedAgent {
  const isExternal = Meta["slipway/agent"] === "external";
  const parts = [machine.Uuid, Name, Engine, Image, isExternal].map(String).join("\0");
  return {
    key: `rebar-${createHash("sha256").update(parts).digest("hex").slice(0, 24)}`,
    machine: machine.Uuid,
    machineName: machine.Name,
    context: Name,
    engine: Engine,
    image: Image,
    isExternal,
  };
}
