import {
  controllerFor,
  type EventRecorder,
  getOrUndefined,
  type Manager,
  refTo,
  regardingOf,
} from "#kernel/kit/index.ts";
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
import { noticesOf } from "./notices.ts";
import type { RebarServer } from "./open-server.ts";

const { machines: Machine } = kindOf;

/** Adds the controller that answers RunActions for machines, and records their turns as Events. */
export function addController(manager: Manager, server: Promise<RebarServer>): void {
  const { client } = manager;
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const machines = manager.mirror(Machine);
  const recorder = manager.recorder({ controller: "slipway.dev/rebar-controller", instance: "slipway" });
  server.then(
    ({ store }) => recordTurns(store, recorder),
    // Who waits for the server says why there is none.
    () => undefined,
  );
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

function recordTurns(store: RebarServer["store"], recorder: EventRecorder): void {
  store.listen((event) => {
    if (event.Type !== "machines") return;
    const machine = store.world.get("machines", event.Key);
    const stored = store.storedOf("machines", event.Key);
    if (machine === undefined || stored === undefined) return;
    for (const { type, reason, message } of noticesOf(event, store.world.get("jobs", machine.CurrentJob)))
      recorder.record({ type, reason, action: "Reconcile", note: message, regarding: regardingOf(stored) });
  });
}

/** What the rules refuse is an answer; anything else is tried again. */
function told(thrown: unknown): { readonly phase: "Refused"; readonly message: string } {
  if (!(thrown instanceof Refused)) throw thrown;
  return { phase: "Refused", message: thrown.message };
}
