import { controllerFor, getOrUndefined, type Manager, refTo } from "#kernel/kit/index.ts";
import { keyOf, splitKey } from "#kernel/model/index.ts";
import {
  actionsFor,
  answer,
  openActions,
  RunAction,
  targetIn,
  targetIndex,
  targetKeys,
} from "#kernel/dialect/index.ts";
import { kindOf } from "./kinds.ts";
import { Refused } from "./failure.ts";
import { isCurrent, steer } from "./run-actions.ts";
import type { RebarServer } from "./open-server.ts";

const { machines: Machine } = kindOf;

/** Adds the controller that answers RunActions for machines. */
export function addController(manager: Manager, server: Promise<RebarServer>): void {
  const { client } = manager;
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const machines = manager.mirror(Machine);
  controllerFor(manager, "rebar-machine")
    // Their runs change with every job.
    .for(Machine, { predicates: [({ type }) => type !== "update"] })
    .watches<RunAction>(RunAction, (action) => targetIn(action, Machine).map(splitKey))
    .with({ maxConcurrent: 4 })
    .complete({
      async reconcile(request, { signal, now }) {
        const machine = machines.get(keyOf(request));
        if (machine === undefined) return;
        for (const seen of openActions(actionsFor(actions, Machine, keyOf(request)))) {
          // The mirror may not have this process's own answers yet.
          const action = await getOrUndefined<RunAction>(client, refTo(RunAction, seen), signal);
          if (action === undefined || openActions([action]).length === 0) continue;
          const { store } = await server;
          const verdict = isCurrent(action, machine)
            ? await steer(store, action, machine).catch(told)
            : { phase: "Refused" as const, message: "the machine was replaced by another one of its name" };
          await answer(client, action, verdict, now, signal);
        }
      },
    });
}

/** What the rules refuse is an answer; anything else is tried again. */
function told(thrown: unknown): { readonly phase: "Refused"; readonly message: string } {
  if (!(thrown instanceof Refused)) throw thrown;
  return { phase: "Refused", message: thrown.message };
}
