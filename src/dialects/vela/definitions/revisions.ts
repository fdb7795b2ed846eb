import {
  asJson,
  apiVersionOf,
  controllerReference,
  isAlreadyExists,
  type KubeObject,
  keyOf,
  type Stored,
} from "#kernel/model/index.ts";
import {
  type ApiClient,
  ensureDeleted,
  type Lister,
  patchStatus,
  type Reconciler,
  withCondition,
} from "#kernel/kit/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import { defined, type JsonObject } from "#lib/base/index.ts";
import { DefinitionRevision } from "../kinds.ts";
import type { Definitions, DefinitionType } from "./definition.ts";
import { definitionOf } from "./find.ts";
import { jsonHash } from "../revision/hash.ts";
import { shippedAnnotation } from "./install.ts";
import { typeFacts } from "./types.ts";

export interface RevisionParts {
  readonly client: ApiClient;
  readonly definitions: Lister;
  readonly revisions: Lister<DefinitionRevision>;
  /** Revisions kept of each definition. */
  readonly limit: number;
  /** Absent: templates are not checked. */
  readonly cue?: Pick<Cue, "vet">;
  /** Adds what a template imports. */
  readonly complete?: Definitions["complete"];
}

/** Names tried while others have those of the next numbers. */
const mostTries = 100;

/** Keeps a DefinitionRevision for every specification a definition has had, and its condition Ready. */
export const revisionKeeper = (type: DefinitionType, parts: RevisionParts): Reconciler => ({
  async reconcile(request, { signal, now }) {
    const definition = parts.definitions.get(keyOf(request));
    if (definition === undefined || definition.metadata.deletionTimestamp !== undefined) return;
    const latest = isShipped(definition) ? undefined : await ensureRevision(type, definition, parts);
    // Tests have checked shipped ones, and checking a hundred of them would delay the first application.
    const problem = isShipped(definition) ? undefined : await problemOf(type, definition, parts, signal);
    const before = statusOf(definition);
    const conditions = withCondition(
      before.conditions ?? [],
      problem === undefined
        ? { type: "Ready", status: "True", reason: "Available", message: "" }
        : { type: "Ready", status: "False", reason: "ReconcileError", message: problem },
      now,
    );
    const observedGeneration = definition.metadata.generation;
    await patchStatus(parts.client, typeFacts[type].kind, definition, {
      ...before,
      conditions,
      observedGeneration,
      ...defined({ latestRevision: latest }),
    });
  },
});

interface Status {
  readonly conditions?: Parameters<typeof withCondition>[0];
  readonly latestRevision?: Latest;
}

interface Latest {
  readonly name: string;
  readonly revision: number;
  readonly revisionHash: string;
}

/** The server has validated it. */
const statusOf = ({ status = {} }: KubeObject): Status => status as Status;

/** Shipped definitions are their own first revision. */
const isShipped = (definition: Stored): boolean =>
  definition.metadata.annotations?.[shippedAnnotation] === jsonHash(specOf(definition));

const specOf = (definition: KubeObject): JsonObject => (asJson(definition)["spec"] ?? {}) as JsonObject;

async function problemOf(
  type: DefinitionType,
  object: Stored,
  { cue, complete = (definition) => definition }: RevisionParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { template, imports } = complete(definitionOf(type, object), object.metadata.namespace ?? "");
  if (cue === undefined || template === "") return undefined;
  const vetted = await cue.vet(template, undefined, signal, imports?.sources);
  if (vetted.ok) return undefined;
  const { problems, message } = vetted.error;
  const lines = problems.map((problem) => {
    const { line, column } = problem;
    return `${line === undefined ? "" : `${line}:${column ?? 1}: `}${problem.message}`;
  });
  return lines.length === 0 ? message : lines.slice(0, 10).join("; ");
}

/** The revision of the present specification: an older one that is equal, or a new one. */
async function ensureRevision(type: DefinitionType, definition: Stored, parts: RevisionParts): Promise<Latest> {
  const { label, revisionType } = typeFacts[type];
  const { name, namespace = "" } = definition.metadata;
  const own = parts.revisions
    .list({ namespace })
    .filter((revision) => revision.metadata.labels?.[label] === name && revision.spec.definitionType === revisionType)
    .toSorted((a, b) => a.spec.revision - b.spec.revision);
  const hash = jsonHash(specOf(definition));
  const known = own.findLast(({ spec }) => spec.revisionHash === hash);
  if (known !== undefined) return latestOf(known);
  const after = own.at(-1)?.spec.revision ?? 0;
  const created = await createRevision(type, definition, { after, hash }, parts.client);
  for (const old of own.slice(0, Math.max(0, own.length + 1 - parts.limit)))
    await ensureDeleted(parts.client, DefinitionRevision, old);
  return latestOf(created);
}

const latestOf = ({ metadata, spec }: Stored<DefinitionRevision>): Latest => ({
  name: metadata.name,
  revision: spec.revision,
  revisionHash: spec.revisionHash,
});

/** A definition of another type may have taken a name. */
async function createRevision(
  type: DefinitionType,
  definition: Stored,
  { after, hash }: { readonly after: number; readonly hash: string },
  client: ApiClient,
): Promise<Stored<DefinitionRevision>> {
  const { name } = definition.metadata;
  for (let number = after + 1; number <= after + mostTries; number += 1) {
    try {
      return await client.create<DefinitionRevision>(
        DefinitionRevision,
        revisionOf(type, definition, number, hash) as unknown as DefinitionRevision,
      );
    } catch (thrown) {
      if (!isAlreadyExists(thrown)) throw thrown;
    }
  }
  throw new Error(`no free name for a revision of ${name}`);
}

function revisionOf(type: DefinitionType, definition: Stored, revision: number, hash: string): KubeObject {
  const { snapshot, revisionType, label } = typeFacts[type];
  const { name, namespace = "", labels = {}, annotations = {} } = definition.metadata;
  const { status: _status, ...content } = definition;
  // With who wrote it, because the server does not note that for objects of controllers.
  const metadata = { name, namespace, labels, annotations };
  return {
    apiVersion: apiVersionOf(DefinitionRevision),
    kind: DefinitionRevision.kind,
    metadata: {
      name: `${name}-v${revision}`,
      namespace,
      labels: { [label]: name },
      ownerReferences: [controllerReference(definition, false)],
    },
    spec: { revision, revisionHash: hash, definitionType: revisionType, [snapshot]: { ...content, metadata } },
  };
}
