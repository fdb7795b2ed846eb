import { formatTime, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { ApiError, badRequest, invalid, isAlreadyExists, isNotFound, notFound } from "#kernel/model/index.ts";
import { readApplied } from "../apply/applied-document.ts";
import { type Applied, applyManagers } from "../apply/apply-managers.ts";
import { conflictCauses, conflictMessage } from "../apply/conflicts.ts";
import { type TypeNode, typeNodeOf } from "../apply/type-node.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { type Admitted, admit, expectKind, expectName, inNamespace } from "./admission.ts";
import type { Answer } from "./answer.ts";
import { changeObject, type Endpoint } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { createObject } from "./create.ts";
import { scopeOf, storedManagers, writerOf } from "./field-owners.ts";
import { metadataOf, metaText } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";
import { keyFor } from "./storage-view.ts";

// Server-side apply (KEP-555). Of several applies to one name one creates the object; all succeed.

/** Tries when the object comes or goes between look and write. */
const maxTurns = 5;

/** A missing object is created on the main endpoint; elsewhere it is 404. */
export interface ApplyTarget {
  readonly namespace: string;
  readonly name: string;
  readonly endpoint: Endpoint;
}

/** 400 without a manager, 409 for others' changed fields unless forced, 422 if invalid. Repeating writes nothing. */
export async function applyObject(
  context: ApiContext,
  resource: ServedResource,
  target: ApplyTarget,
  body: JsonValue,
  request: WriteRequest,
): Promise<Answer> {
  const document = readDocument(resource, target, body, request);
  const key = keyFor(resource, target.namespace, target.name);
  for (let turn = 1; ; turn++) {
    const exists = context.store.get(key) !== undefined;
    try {
      return exists
        ? await applyToExisting(context, resource, target, document, request)
        : await applyToNothing(context, resource, target, document, request);
    } catch (thrown) {
      const isRace = exists ? isNotFound(thrown) : isAlreadyExists(thrown);
      if (!isRace || turn === maxTurns) throw thrown;
    }
  }
}

export interface Declaration {
  readonly object: JsonObject;
  /** As its author wrote it (`1000m` where `1` is stored), which kubectl needs to find removed fields. */
  readonly sent: JsonObject;
}

/** Checks what does not depend on the existing object. */
export function readDocument(
  resource: ServedResource,
  { namespace, name }: Pick<ApplyTarget, "namespace" | "name">,
  body: JsonValue,
  request: WriteRequest,
  type: TypeNode = typeNodeOf(resource),
): Admitted & Declaration {
  if (request.fieldManager === undefined) throw badRequest("fieldManager is required for apply patches");
  const sent = expectName(inNamespace(expectKind(body, resource), resource, namespace), name);
  if ((metadataOf(sent)["managedFields"] ?? null) !== null) throw badRequest("metadata.managedFields must be nil");
  // Nulls declare nothing; they go before unknown fields are looked for.
  const { object, causes } = readApplied(sent, type);
  if (causes.length > 0) throw invalid(resource.type, name, causes);
  return { ...admit(object, resource, request), sent: object };
}

function applyToExisting(
  context: ApiContext,
  resource: ServedResource,
  target: ApplyTarget,
  document: Admitted & Declaration,
  request: WriteRequest,
): Promise<Answer> {
  return changeObject(context, {
    ...target,
    resource,
    request,
    replaces: false,
    compute: (old) => {
      const { object, managers } = applied(context, resource, target.endpoint, old, document, request);
      return { object, warnings: document.warnings, managers };
    },
  });
}

/** A creation with owners from the apply. A uid in the document names an object that does not exist. */
async function applyToNothing(
  context: ApiContext,
  resource: ServedResource,
  target: ApplyTarget,
  document: Admitted & Declaration,
  request: WriteRequest,
): Promise<Answer> {
  const { object, warnings } = document;
  if (target.endpoint !== "main") throw notFound(resource.type, target.name);
  const uid = metaText(object, "uid");
  if (uid !== "") {
    throw new ApiError("Conflict", `the object of uid ${uid} does not exist, and apply cannot create it under its uid`);
  }
  const { managers } = applied(context, resource, "main", undefined, document, request);
  const answer = await createObject(context, resource, target.namespace, object, { ...request, managers });
  return { ...answer, warnings: [...warnings, ...answer.warnings], created: true };
}

/** The merged object and its owners, or 409. `live` is absent for an object to be created. */
export function applied(
  context: ApiContext,
  resource: ServedResource,
  endpoint: Endpoint,
  live: JsonObject | undefined,
  { object, sent }: Declaration,
  request: WriteRequest,
): Applied {
  const outcome = applyManagers({
    live,
    document: object,
    sent,
    type: typeNodeOf(resource),
    managers: live === undefined ? [] : storedManagers(metadataOf(live)["managedFields"]).managers,
    writer: writerOf(resource, request),
    scope: scopeOf(resource, endpoint),
    force: request.force === true,
    now: formatTime(context.clock.now()),
  });
  if (outcome.ok) return outcome.value;
  throw new ApiError("Conflict", conflictMessage(outcome.error), {
    details: { causes: conflictCauses(outcome.error) },
  });
}
