import type { Informer } from "#kernel/kit/index.ts";
import { agentsOfHardware, type AnyHardware } from "../hardware.ts";
import { agentKey } from "../state.ts";

export class HardwareAgents {
  readonly #counts = new Map<string, number>();

  constructor(hardware: Informer<AnyHardware>) {
    hardware.addHandler({
      add: (added) => this.#count(added, 1),
      update: (before, after) => {
        this.#count(before, -1);
        this.#count(after, 1);
      },
      delete: (deleted) => this.#count(deleted, -1),
    });
  }

  has(agentID: string): boolean {
    return this.#counts.has(agentKey(agentID));
  }

  #count(hardware: AnyHardware, by: 1 | -1): void {
    for (const agentID of agentsOfHardware(hardware)) {
      const key = agentKey(agentID);
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }
}
