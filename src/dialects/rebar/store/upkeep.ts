import { inParallel, messageOf, objectsAt, textAt } from "#lib/base/index.ts";
import { collections, isCollection, kindOf } from "../kinds.ts";
import type { Collection } from "../objects.ts";
import { refreshEverything } from "./cascade.ts";
import { completeEdit } from "./direct-edits.ts";
import { internal } from "./events.ts";
import { activeRev } from "./mirror.ts";
import { nameOf } from "./names.ts";
import { updateJob } from "./jobs.ts";
import { changing, type Parts } from "./parts.ts";

/**
 * Repairs what a crash has left: direct edits without their effects, actions that nobody runs any more, objects of jobs
 * that lag behind their machines, computed fields that lag behind what they depend on, and revisions of bundles that
 * are not in force. Deletes nothing else.
 */
export async function repair(parts: Parts): Promise<void> {
  await completeEdits(parts);
  await endLostActions(parts);
  await writeRecords(parts);
  await refreshEverything(parts);
  await removeReplaced(parts);
  await removeInactive(parts);
}

/** Direct edits whose effects are still to come. */
export async function completeEdits(parts: Parts): Promise<void> {
  for (const collection of collections) {
    const table = parts.mirror.table<Collection>(collection);
    for (const { key, object } of [...table.entries()].filter(({ isEdited }) => isEdited))
      await changing(parts, collection, key, async () => {
        const now = table.named(object.metadata.name);
        if (now !== undefined) await completeEdit(parts, collection, now);
      });
  }
}

/** An action ran in the process that is gone. */
async function endLostActions(parts: Parts): Promise<void> {
  for (const machine of parts.mirror.all("machines")) {
    const job = parts.mirror.get("jobs", machine.CurrentJob);
    if (job?.State !== "running" || !job.Task.startsWith("action:")) continue;
    await parts.logs?.append(job.Uuid, new TextEncoder().encode("The server stopped while this action ran.\n"));
    await updateJob(parts, job.Uuid, (now) => ({ ...now, State: "failed", ExitState: "failed" }), { by: internal });
  }
}

async function writeRecords({ mirror, projections }: Parts): Promise<void> {
  await inParallel([...mirror.table("machines").entries()], async ({ records: { current, previous } }) => {
    if (previous !== undefined) await projections.write(previous);
    if (current !== undefined) await projections.write(current);
  });
}

/** Objects of revisions that are not in force, as left by a replaced bundle or an upload that did not end. */
export async function removeInactive({ mirror, client, namespace, log }: Parts): Promise<void> {
  for (const collection of collections) {
    const gone = [...mirror.table(collection).entries()].filter(
      ({ revision }) => revision !== undefined && !mirror.isActive(revision),
    );
    await inParallel(gone, async ({ object }) => {
      const ref = { type: kindOf[collection], namespace, name: object.metadata.name };
      try {
        await client.delete(ref, { preconditions: { uid: object.metadata.uid } });
        mirror.drop(collection, object, false);
      } catch (thrown) {
        log.debug("an object of a former revision stays for now", { name: ref.name, error: messageOf(thrown) });
      }
    });
  }
}

/** Writable objects that an upload was allowed to replace; the bundle's objects hide them since the switch. */
export async function removeReplaced({ mirror, writer }: Parts): Promise<void> {
  for (const bundle of mirror.bundles.values()) {
    for (const one of objectsAt(bundle.spec, "replaces")) {
      const [collection, key] = [textAt(one, "collection") ?? "", textAt(one, "key") ?? ""];
      if (!isCollection(collection)) continue;
      const table = mirror.table(collection);
      const hidden = table.named(nameOf(key));
      if (hidden !== undefined && table.entry(key)?.revision === activeRev(bundle))
        await writer.remove(collection, hidden);
    }
  }
}
