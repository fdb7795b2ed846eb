import { removeFinalizer } from "#kernel/kit/index.ts";
import { releaseApplication } from "../delivery/garbage.ts";
import { Application } from "../kinds.ts";
import { orphanFinalizer, trackerFinalizer } from "../labels.ts";
import { notices } from "../notices.ts";
import { parseApp } from "../parse.ts";
import { pending, withPhase } from "./conditions.ts";
import type { Pass, Wake } from "./parts.ts";
import { toolsOf } from "./run-stage.ts";

const again: Wake = { after: 2_000 };

/** Deletes what the application applied, then lets it go. */
export async function deleteStage(pass: Pass): Promise<Wake> {
  const { store, client, clock } = pass;
  const finalizers = store.application.metadata.finalizers ?? [];
  const isOrphaning = finalizers.includes(orphanFinalizer);
  if (!finalizers.includes(trackerFinalizer) && !isOrphaning) return {};
  await store.change((status) => pending(withPhase(status, "deleting"), "Ready", "Deleting", clock.now()));
  const { application } = store;
  const revision = {
    name: application.status?.latestRevision?.name ?? "",
    number: application.status?.latestRevision?.revision ?? 0,
  };
  const app = parseApp(application, revision);
  const { delivery } = toolsOf(pass, {
    app,
    definitions: pass.definitions,
    revisionHash: "",
    // Whoever may delete the application may delete what it applied.
    acting: client,
  });
  const { pending: left } = await releaseApplication(delivery, { isOrphaning });
  if (left.length > 0) {
    pass.record(application, notices.notCollected(left.join("; ")));
    return again;
  }
  await pass.release(application);
  let current = application;
  for (const finalizer of [orphanFinalizer, trackerFinalizer])
    current = await removeFinalizer<Application>(client, Application, current, finalizer);
  pass.record(application, notices.deleted(application.metadata.name));
  return {};
}
