import type { JsonObject } from "#lib/base/index.ts";
import type { Job, Machine } from "../objects.ts";
import { changeJob, nextJob, type NextJob } from "../rules/job.ts";
import { changeMachine, createMachine, type HowToChange } from "../rules/machine.ts";
import { readObject } from "../model/read.ts";
import type { MemoryWorld } from "./memory-world.ts";

export const machineId = "00000000-0000-4000-8000-0000000000aa";

/** A machine in a world; applies commits as the store does. */
export class Scene {
  readonly world: MemoryWorld;
  readonly id: string;
  private made = 0;

  constructor(world: MemoryWorld, sent: JsonObject = {}) {
    this.world = world;
    const created = createMachine({ Name: "m1.example", ...sent }, world, {
      uuid: machineId,
      secret: "0123456789abcdef",
    });
    if (!created.ok) throw new Error(created.error.Messages.join("\n"));
    this.id = world.put("machines", created.value).Uuid;
  }

  get machine(): Machine {
    const found = this.world.get("machines", this.id);
    if (found === undefined) throw new Error("there is no machine");
    return found;
  }

  get job(): Job | undefined {
    return this.world.get("jobs", this.machine.CurrentJob);
  }

  get now(): string {
    return `2026-01-01T00:00:${String(this.made % 60).padStart(2, "0")}Z`;
  }

  /** Changes fields as PATCH does. Returns the messages of a refusal, or null. */
  patch(changes: JsonObject, how: HowToChange = {}): readonly string[] | null {
    const read = readObject("machines", { ...(this.machine as unknown as JsonObject), ...changes }, this.machine);
    if (!read.ok) return read.error.Messages;
    const changed = changeMachine(this.machine, read.value, this.world, how);
    if (!changed.ok) return changed.error.Messages;
    this.world.put("machines", changed.value);
    return null;
  }

  /** `POST /jobs`. */
  post(context = "", uuid = ""): NextJob {
    this.made++;
    const made = { now: this.now, uuid: `00000000-0000-4000-8000-${String(this.made).padStart(12, "0")}` };
    const request = { Machine: this.id, Context: context, Uuid: uuid };
    const next = nextJob(this.machine, this.job, request, this.world, made);
    if (next.kind !== "commit") return next;
    this.world.put("machines", next.machine);
    if (next.job !== undefined) this.world.put("jobs", next.job);
    if (next.superseded !== undefined) this.world.put("jobs", next.superseded);
    return next;
  }

  /** The status code of `POST /jobs`. */
  postCode(context = ""): number {
    const next = this.post(context);
    switch (next.kind) {
      case "refused":
        return next.error.Code;
      case "nothing":
        return 204;
      case "again":
        return 202;
      case "commit":
        return next.code;
    }
  }

  /** `PATCH /jobs/U` of the current job, or another one. */
  patchJob(changes: JsonObject, uuid = this.machine.CurrentJob): readonly string[] | null {
    const old = this.world.get("jobs", uuid);
    if (old === undefined) return ["there is no such job"];
    const read = readObject("jobs", { ...(old as unknown as JsonObject), ...changes }, old);
    if (!read.ok) return read.error.Messages;
    this.made++;
    const changed = changeJob(old, read.value, this.world.get("machines", old.Machine), this.world, this.now);
    if (!changed.ok) return changed.error.Messages;
    this.world.put("jobs", changed.value.job);
    if (changed.value.machine !== undefined) this.world.put("machines", changed.value.machine);
    return null;
  }

  /** Runs the current job to its end, as an agent does. */
  finish(): void {
    this.patchJob({ State: "running" });
    this.patchJob({ State: "finished", ExitState: "complete" });
  }
}
