import { defined, jsonEquals, type JsonObject, objectAt } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { annotation, label } from "../labels.ts";
import { jsonHash } from "./hash.ts";
import { decodeSnapshot, type Snapshot } from "./snapshot.ts";

export interface RevisionChoice {
  readonly name: string;
  readonly number: number;
  readonly hash: string;
  readonly publishVersion?: string;
  /** What to render from: of an existing revision, its own. */
  readonly snapshot: Snapshot;
  /** Absent for a new revision. */
  readonly existing?: Stored;
  /** The spec of the revision is used although the application's differs. */
  readonly isPinned: boolean;
}

export interface RevisionQuestion {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Of the application as it is now. */
  readonly snapshot: Snapshot;
  readonly revisions: readonly Stored[];
  /** The highest number so far, which removed revisions may have had. */
  readonly lastNumber: number;
}

/**
 * The revision that an application is at. New iff the application's spec or its publishVersion differs; a changed
 * definition alone makes a new one only with annotation autoUpdate.
 */
export function decideRevision(question: RevisionQuestion): RevisionChoice {
  const { annotations, snapshot, revisions, lastNumber, name } = question;
  const publishVersion = annotations[annotation.publishVersion];
  const sorted = [...revisions].sort((a, b) => revisionNumber(b) - revisionNumber(a));
  const [latest] = sorted;
  const isPublishedAlike = (one: KubeObject): boolean => publishVersionOf(one) === publishVersion;
  const hash = snapshotHash(snapshot);
  if (publishVersion !== undefined) {
    const published = sorted.find(isPublishedAlike);
    if (published !== undefined) return existing(published, !isSameSpec(published, snapshot));
  }
  if (latest !== undefined && isPublishedAlike(latest)) {
    if (hashOf(latest) === hash) return existing(latest, false);
    const isAutomatic = (annotations[annotation.autoUpdate] ?? "false") !== "false";
    if (!isAutomatic && isSameSpec(latest, snapshot)) return existing(latest, false);
  }
  const former = sorted.find((one) => isPublishedAlike(one) && hashOf(one) === hash);
  if (former !== undefined) return existing(former, false);
  const number = Math.max(lastNumber, latest === undefined ? 0 : revisionNumber(latest)) + 1;
  return {
    name: `${name}-v${number}`,
    number,
    hash,
    snapshot,
    isPinned: false,
    ...defined({ publishVersion }),
  };
}

function existing(revision: Stored, isPinned: boolean): RevisionChoice {
  const publishVersion = publishVersionOf(revision);
  return {
    name: revision.metadata.name,
    number: revisionNumber(revision),
    hash: hashOf(revision),
    snapshot: decodeSnapshot(revision),
    existing: revision,
    isPinned,
    ...defined({ publishVersion }),
  };
}

/** Changes with the application's spec and everything that it refers to. */
export const snapshotHash = ({ application, definitions, policies, workflow, referredObjects }: Snapshot): string =>
  jsonHash({
    application: application["spec"] ?? {},
    definitions: Object.fromEntries(Object.entries(definitions).map(([type, byName]) => [type, specsOf(byName)])),
    policies,
    workflow: workflow ?? null,
    referredObjects,
  });

const specsOf = (byName: Readonly<Record<string, JsonObject>>): JsonObject =>
  Object.fromEntries(Object.entries(byName).map(([name, object]) => [name, object["spec"] ?? {}]));

const isSameSpec = (revision: KubeObject, { application, policies, workflow }: Snapshot): boolean => {
  const former = decodeSnapshot(revision);
  return (
    jsonEquals(former.application["spec"], application["spec"]) &&
    canonicalJson(former.policies) === canonicalJson(policies) &&
    jsonEquals(objectAt(former.workflow), objectAt(workflow))
  );
};

/** `shop-v3` is 3; 0 for other names. */
export function revisionNumber({ metadata }: KubeObject): number {
  const number = /-v(\d+)$/.exec(metadata.name ?? "")?.[1];
  return number === undefined ? 0 : Number(number);
}

const hashOf = ({ metadata }: KubeObject): string => metadata.labels?.[label.appRevisionHash] ?? "";
const publishVersionOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.annotations?.[annotation.publishVersion];
