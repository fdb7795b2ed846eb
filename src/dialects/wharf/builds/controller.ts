import type { Millis } from "#lib/base/index.ts";
import { controllerFor, getOrUndefined, type Manager, regardingOf } from "#kernel/kit/index.ts";
import { keyOf, splitKey } from "#kernel/model/index.ts";
import { RunAction, targetIn, targetIndex, targetKeys } from "#kernel/dialect/index.ts";
import { Build, Project, Worker } from "../kinds.ts";
import type { Engines } from "./engines.ts";
import { giveProjectNumber } from "./give-number.ts";
import { buildReconciler, type KeptResults, workersByBuild } from "./reconcile.ts";
import type { Records } from "./records.ts";
import { bindToken, type StartParts } from "./start-worker.ts";

const lookForToken: Millis = 10_000;

export interface BuildControllerOptions {
  readonly records: Records;
  readonly engines: Engines;
  readonly instance: string;
  readonly audit?: StartParts["audit"];
  readonly triggerDeadlineMs?: Millis | undefined;
  readonly kept: KeptResults;
}

export function addBuildControllers(manager: Manager, options: BuildControllerOptions): void {
  const { records } = options;
  const { client, clock } = manager;
  const recorder = manager.recorder({ controller: "slipway.dev/wharf-controller", instance: "slipway" });
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const workers = manager.mirror<Worker>(Worker);
  workers.addIndex(workersByBuild, ({ spec }) => (spec.buildRef === undefined ? [] : [`${spec.buildRef}`]));
  const requestsFor = (builds: readonly Build[]) => builds.map(({ metadata }) => splitKey(keyOf(metadata)));
  controllerFor(manager, "wharf-build")
    .for<Build>(Build, { resyncEvery: 600_000 })
    .watches<Project>(Project, (project) => requestsFor(records.buildsOf(project)))
    // Canceled and deleted builds wait for their worker.
    .watches<Worker>(Worker, ({ spec }) =>
      requestsFor([records.build(spec.buildRef ?? 0)].flatMap((build) => build ?? [])),
    )
    .watches<RunAction>(RunAction, (action) => targetIn(action, Build).map(splitKey))
    .with({ maxConcurrent: 16 })
    .complete(
      buildReconciler({
        ...options,
        client,
        clock,
        actions,
        workers,
        record: (build, { type, reason, message }) =>
          recorder.record({ type, reason, action: "Reconcile", note: message, regarding: regardingOf(build) }),
      }),
    );
  // Clients of the REST API identify projects by number. A token is bound before another project can name it.
  controllerFor(manager, "wharf-project")
    .for<Project>(Project)
    .with({ maxConcurrent: 4 })
    .complete({
      async reconcile({ namespace = "", name }, { signal }) {
        const project = await getOrUndefined<Project>(client, { type: Project, namespace, name }, signal);
        if (project === undefined || project.metadata.deletionTimestamp !== undefined) return undefined;
        if (project.spec.projectId === undefined) await giveProjectNumber({ client, records, project, signal });
        const { tokenSecretRef } = project.spec;
        if (tokenSecretRef === undefined || (await bindToken(project, { client, namespace }, signal)) !== undefined)
          return undefined;
        return { requeueAfter: lookForToken };
      },
    });
}
