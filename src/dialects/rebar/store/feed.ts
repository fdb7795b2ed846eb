import { jsonEquals, messageOf } from "#lib/base/index.ts";
import { InformerFactory, type InformerHandler } from "#kernel/kit/index.ts";
import { type ResourceType, type Stored } from "#kernel/model/index.ts";
import { isPending } from "../bundles/content.ts";
import { collections, ContentBundle, kindOf, Preference } from "../kinds.ts";
import type { Collection } from "../objects.ts";
import { loadWritten } from "./bundles.ts";
import { cascade, refreshEverything } from "./cascade.ts";
import { isKept, keptOf } from "./codec.ts";
import { completeEdit } from "./direct-edits.ts";
import { internal } from "./events.ts";
import { writeRecordsOf } from "./jobs.ts";
import type { Applied } from "./mirror.ts";
import { changing, type Parts } from "./parts.ts";
import { removeInactive } from "./upkeep.ts";

/** Mirrors everything that is stored, and takes care of what others write. Resolves when all was read. */
export async function startFeed(parts: Parts): Promise<InformerFactory> {
  const { client, clock, log, random, signal, namespace } = parts;
  const informers = new InformerFactory({ client, clock, log, random });
  const follow = (type: ResourceType, handler: InformerHandler): void => {
    informers.acquire(type, { namespace }).informer.addHandler(handler);
  };
  for (const collection of collections) follow(kindOf[collection], handlerOf(parts, collection));
  follow(
    Preference,
    whole((object) => void parts.mirror.putPrefs(keptOf(object))),
  );
  follow(ContentBundle, {
    add: (object, { isInitial }) => {
      loadIfWritten(parts, object);
      if (parts.mirror.putBundle(keptOf(object)) && !isInitial) switched(parts);
    },
    update: (_old, object) => {
      loadIfWritten(parts, object);
      if (parts.mirror.putBundle(keptOf(object))) switched(parts);
    },
    delete: (object) => {
      if (parts.mirror.dropBundle(keptOf(object))) switched(parts);
    },
  });
  try {
    await informers.readable(signal);
  } catch (thrown) {
    await informers.close();
    throw thrown;
  }
  return informers;
}

/** An own switch is known already, unless its event comes first: then this is done twice. */
const switched = (parts: Parts): void =>
  inBackground(parts, "contentbundles", () =>
    parts.inTurn("contents", async () => {
      await refreshEverything(parts);
      await removeInactive(parts);
    }),
  );

function loadIfWritten(parts: Parts, object: Stored): void {
  if (isPending(object)) inBackground(parts, "contentbundles", () => loadWritten(parts, object));
}

const whole = (put: (object: Stored) => void): InformerHandler => ({
  add: put,
  update: (_old, object) => put(object),
});

function handlerOf(parts: Parts, collection: Collection): InformerHandler {
  const { mirror, writer } = parts;
  const put = (object: Stored, isInitial: boolean): void =>
    writer.whenQuiet(collection, object.metadata.name, () => {
      if (!isKept(object)) return;
      const applied = mirror.put(collection, object);
      if (applied !== undefined && !isInitial)
        inBackground(parts, collection, () => changedByOthers(parts, collection, applied));
    });
  return {
    add: (object, { isInitial }) => put(object, isInitial),
    update: (_old, object) => put(object, false),
    delete: (object) =>
      writer.whenQuiet(collection, object.metadata.name, () => {
        if (!isKept(object)) return;
        const dropped = mirror.drop(collection, object, true);
        if (dropped?.wire === undefined) return;
        parts.events.tell(collection, "delete", dropped.wire, internal);
        inBackground(parts, collection, async () => {
          await writeRecordsOf(parts, dropped.records);
          await cascade(parts, [{ collection, key: dropped.key }]);
        });
      }),
  };
}

async function changedByOthers(parts: Parts, collection: Collection, { entry, before }: Applied): Promise<void> {
  const { mirror, events } = parts;
  if (entry.isEdited) {
    await changing(parts, collection, entry.key, async () => {
      const now = mirror.table(collection).named(entry.object.metadata.name);
      if (now !== undefined) await completeEdit(parts, collection, now);
    });
  } else if (entry.wire !== undefined && !jsonEquals(entry.wire, before?.wire)) {
    events.tell(collection, before === undefined ? "create" : "update", entry.wire, internal, before?.wire);
  }
  if (collection !== "machines" && collection !== "jobs") await cascade(parts, [{ collection, key: entry.key }]);
}

function inBackground({ log, signal }: Parts, collection: string, run: () => Promise<void>): void {
  run().catch((thrown: unknown) => {
    if (!signal.aborted) log.error("a change by others was not followed", { collection, error: messageOf(thrown) });
  });
}
