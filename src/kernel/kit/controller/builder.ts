import type { Millis } from "#lib/base/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";
import type { InformerShare } from "../cache/informer-factory.ts";
import type { Scope } from "../cache/reflector.ts";
import { Controller, type ControllerOptions } from "./controller.ts";
import type { Manager } from "./manager.ts";
import type { Reconciler } from "./reconciler.ts";
import {
  enqueueHandler,
  type NewsChoices,
  type RequestChannel,
  requestFor,
  requestKey,
  type RequestMap,
  toController,
} from "./source.ts";

export interface WatchChoices<T extends KubeObject = KubeObject> extends NewsChoices<T> {
  readonly scope?: Scope;
  /** Repeats every object about that often; default: never. */
  readonly resyncEvery?: Millis;
}

/** `observer` replaces the manager's metrics. */
export type ControllerChoices = Pick<
  ControllerOptions,
  "maxConcurrent" | "reconcileTimeout" | "drainTimeout" | "observer" | "retries"
>;

/** Describes a controller; nothing happens before `complete`. */
export interface ControllerBuilder {
  /** The kind it reconciles. Exactly once. */
  for<T extends KubeObject = KubeObject>(type: ResourceType, choices?: WatchChoices<T>): ControllerBuilder;
  /** Objects controlled by an object of that kind. */
  owns<T extends KubeObject = KubeObject>(type: ResourceType, choices?: WatchChoices<T>): ControllerBuilder;
  /** Other objects, mapped to what must be reconciled when they change. */
  watches<T extends KubeObject = KubeObject>(
    type: ResourceType,
    map: RequestMap<T>,
    choices?: WatchChoices<T>,
  ): ControllerBuilder;
  watchesChannel(channel: RequestChannel): ControllerBuilder;
  with(choices: ControllerChoices): ControllerBuilder;
  /** Creates the controller and adds it to the manager. */
  complete(reconciler: Reconciler): Controller;
}

/** Attaches a source to a controller; returns how to detach it. */
type Attach = (controller: Controller) => () => void;

/** `name` is for logs and metrics, and unique in the manager. */
export const controllerFor = (manager: Manager, name: string): ControllerBuilder =>
  builder(manager, name, { sources: [], choices: {} });

/** Builders are values: one may be the start of several controllers. */
interface Draft {
  readonly forType?: ResourceType;
  readonly sources: readonly ((forType: ResourceType) => Attach)[];
  readonly choices: ControllerChoices;
}

function builder(manager: Manager, name: string, draft: Draft): ControllerBuilder {
  const withSource = (source: Draft["sources"][number], more: Partial<Draft> = {}) =>
    builder(manager, name, { ...draft, ...more, sources: [...draft.sources, source] });
  return {
    for(type, choices) {
      if (draft.forType !== undefined) throw new Error(`the controller ${name} is for ${draft.forType.kind} already`);
      return withSource(() => objects(manager, type, (object) => [requestFor(object)], choices), { forType: type });
    },
    owns: (type, choices) => withSource((forType) => objects(manager, type, toController(forType), choices)),
    watches: (type, map, choices) => withSource(() => objects(manager, type, map, choices)),
    watchesChannel: (channel) =>
      withSource(() => (controller) => channel.subscribe((request) => controller.queue.add(requestKey(request)))),
    with: (choices) => builder(manager, name, { ...draft, choices: { ...draft.choices, ...choices } }),
    complete: (reconciler) => complete(manager, name, draft, reconciler),
  };
}

/** Sources are attached before the start, so that no initial state is missed. */
function complete(manager: Manager, name: string, draft: Draft, reconciler: Reconciler): Controller {
  const { forType, sources, choices } = draft;
  if (forType === undefined) throw new Error(`the controller ${name} is for no kind; call for(…) first`);
  const { clock, log, schedule, controllerMetrics } = manager;
  const observer = controllerMetrics.observer(name);
  const controller = new Controller({ name, reconciler, clock, log, schedule, observer, ...choices });
  controllerMetrics.watch(controller);
  const detach = sources.map((source) => source(forType)(controller));
  manager.add(controller);
  manager.onStopped(() => {
    for (const stop of detach) stop();
  });
  return controller;
}

/** Two controllers of one kind share one watch. */
function objects<T extends KubeObject>(
  manager: Manager,
  type: ResourceType,
  map: RequestMap<T>,
  choices: WatchChoices<T> = {},
): Attach {
  return (controller) => {
    const share: InformerShare<T> = manager.informers.acquire<T>(type, choices.scope);
    const handler = enqueueHandler<T>(map, choices, (request, priority) =>
      controller.queue.add(requestKey(request), priority),
    );
    const { resyncEvery } = choices;
    const remove = share.informer.addHandler(handler, resyncEvery === undefined ? {} : { resyncEvery });
    return () => {
      remove();
      share.release();
    };
  };
}
