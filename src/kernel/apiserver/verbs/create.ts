import { deepFreeze, formatTime, type JsonObject } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Transaction } from "../store/store.ts";
import { type Admitted, admit, checkSize, tidyMetadata, expectKind, inNamespace } from "./admission.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { checkDefinition } from "./definition-rules.ts";
import { metadataOf, metaText, withMetadata } from "./metadata.ts";
import { checkMetadata } from "./metadata-rules.ts";
import { generatedName } from "./names.ts";
import { checkNamespace } from "./namespace-rules.ts";
import type { WriteRequest } from "./options.ts";
import { alreadyExists, badRequest, invalid } from "./refusals.ts";
import { keyFor } from "./storage-view.ts";

const maxNameTries = 8;

/** POST to a collection. Resolves when the object is durable. */
export async function createObject(
  context: ApiContext,
  resource: ServedResource,
  namespace: string,
  body: unknown,
  request: WriteRequest,
): Promise<Answer> {
  const sent = tidyMetadata(inNamespace(expectKind(body, resource), resource, namespace));
  if (metaText(sent, "resourceVersion") !== "") {
    throw badRequest("resourceVersion must not be set on an object to be created");
  }
  const admitted = admit(sent, resource, request);
  const birth = { uid: context.newUid(), creationTimestamp: formatTime(context.clock.now()) };
  const build = (name: string | undefined) =>
    buildObject(resource, admitted, name === undefined ? birth : { ...birth, name });
  // Only the absence of a name is an invitation to make one; a wrong one stays and is refused.
  const { name: sentName = "" } = metadataOf(sent);
  const generateName = sentName === "" ? metaText(sent, "generateName") : "";
  const nextName = () => (generateName === "" ? undefined : generatedName(generateName, context.random));
  const first = build(nextName());

  return context.store.write((transaction) => {
    checkDefinition(transaction, resource);
    checkNamespace(transaction, resource, namespace, metaText(first.object, "name"));
    if (first.causes.length > 0) throw invalid(resource.type, metaText(first.object, "name"), first.causes);
    let built = first;
    for (let tries = 1; isTaken(transaction, resource, built.object); tries++) {
      if (generateName === "" || tries === maxNameTries)
        throw alreadyExists(resource.type, metaText(built.object, "name"));
      built = build(nextName());
    }
    return store(context, transaction, resource, built, request);
  });
}

interface Built extends Admitted {
  readonly causes: readonly StatusCause[];
}

function buildObject(resource: ServedResource, admitted: Admitted, birth: JsonObject): Built {
  const stamped = withMetadata(admitted.object, {
    ...birth,
    generation: resource.hasGeneration ? 1 : undefined,
    resourceVersion: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
  });
  // Wrong metadata may have any shape, and the functions of a kind count on a right one.
  const metadataCauses = checkMetadata(stamped, resource.type);
  if (metadataCauses.length > 0) return { object: stamped, causes: metadataCauses, warnings: [] };
  const object = resource.prepareForCreate(resource.withDefaults(stamped));
  const found = resource.validateCreate(object);
  return {
    object,
    causes: found.causes,
    warnings: [...resource.warnings, ...admitted.warnings, ...found.warnings],
  };
}

function isTaken(transaction: Transaction, resource: ServedResource, object: JsonObject): boolean {
  const key = keyFor(resource, metaText(object, "namespace"), metaText(object, "name"));
  return transaction.head(key) !== undefined;
}

function store(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  built: Built,
  request: WriteRequest,
): Answer {
  const { object, warnings } = built;
  if (request.dryRun === true) return { resource, warnings, draft: deepFreeze(object) };
  const key = keyFor(resource, metaText(object, "namespace"), metaText(object, "name"));
  const entry = transaction.put(key, resource.storage?.encode(object) ?? object);
  checkSize(entry.bytes.length, context.limits.maxObjectBytes);
  return { resource, warnings, entry };
}
