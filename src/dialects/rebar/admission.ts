import { jsonEquals, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import type { Admission, Admitted, ReviewParts } from "#kernel/dialect/index.ts";
import { forbiddenField, invalidValue, type StatusCause } from "#kernel/model/index.ts";
import { inUse } from "./model/dependants.ts";
import { isUuid } from "./model/names.ts";
import { Refused } from "./failure.ts";
import {
  bundleLabel,
  collections,
  ContentBundle,
  group,
  kindOf,
  machineLabel,
  Preference,
  revisionLabel,
} from "./kinds.ts";
import { type Collection, keyField } from "./objects.ts";
import { mayBeNamed, nameOf, uuidOf } from "./store/names.ts";
import { prefsErrors, prefsName } from "./store/prefs.ts";
import { bundleErrors, reviewRecord, worldOf } from "./store/review.ts";

// What kubectl may write. The server's own writes are told by a counter in the status, which only controllers change:
// a write that leaves the counter and changes the spec is a direct edit. It is stored with the spec before it, shows
// its effects when the store has completed it, and is refused here as far as that is known now.

const writesIn = (object: JsonObject): number => Number(objectAt(object, "status")?.["writes"] ?? 0);
const isOwn = (object: JsonObject): boolean => writesIn(object) > 0;
const isDirect = (object: JsonObject, old: JsonObject): boolean =>
  writesIn(object) <= writesIn(old) && !jsonEquals(object["spec"], old["spec"]);

const good: Admitted = { causes: [], warnings: [] };
const refused = (...causes: readonly StatusCause[]): Admitted => ({ causes, warnings: [] });

/** Records and labels are the server's. */
const ownFields = ["currentJobRecord", "previousJobRecord"] as const;
const ownLabels = [bundleLabel, revisionLabel, machineLabel] as const;

function withOwnParts(object: JsonObject, old: JsonObject | undefined): JsonObject {
  const spec: Record<string, JsonObject[string]> = { ...objectAt(object, "spec") };
  for (const name of ownFields) spec[name] = objectAt(old, "spec")?.[name];
  const metadata = objectAt(object, "metadata") ?? {};
  const labels: Record<string, JsonObject[string]> = { ...objectAt(metadata, "labels") };
  for (const name of ownLabels) labels[name] = textAt(old, "metadata", "labels", name);
  const isLabelled = Object.values(labels).some((value) => value !== undefined);
  return { ...object, spec: tidy(spec), metadata: { ...metadata, labels: isLabelled ? tidy(labels) : undefined } };
}

const tidy = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** The spec before the first edit that is not completed. */
const beforeEdit = (old: JsonObject): JsonObject => objectAt(old, "status", "before") ?? objectAt(old, "spec") ?? {};

function recordAdmission(collection: Collection): Admission {
  const field = keyField(collection);
  return {
    group,
    kind: kindOf[collection].kind,
    coversSchema: false,
    reviews: "others",
    prepareForCreate(object, writer) {
      if (writer === undefined && isOwn(object)) return object;
      const { status: _dropped, ...rest } = withOwnParts(object, undefined);
      const spec = objectAt(rest, "spec") ?? {};
      const name = textAt(object, "metadata", "name") ?? "";
      const key = collection === "machines" && !isUuid(name) ? uuidOf(name) : name;
      const named = collection === "machines" ? { Name: name, [field]: key } : { [field]: key };
      return { ...rest, spec: { ...named, ...spec } };
    },
    prepareForUpdate(object, old) {
      if (writesIn(object) > writesIn(old)) return object;
      const kept: JsonObject = { ...withOwnParts(object, old), status: old["status"] };
      if (jsonEquals(kept["spec"], old["spec"])) return { ...kept, spec: old["spec"] };
      return { ...kept, status: { ...objectAt(old, "status"), before: beforeEdit(old) } };
    },
    ownStatus(status) {
      const { before: _ofEdits, ...own } = status;
      return own;
    },
    validate: (object, old) => validateRecord(collection, object, old),
    review: (object, parts) => reviewed(collection, object, parts),
    reviewDeletion: (object, parts) => usesOf(collection, object, parts),
  };
}

function validateRecord(collection: Collection, object: JsonObject, old: JsonObject | undefined): Admitted {
  const field = keyField(collection);
  const spec = objectAt(object, "spec") ?? {};
  if (old === undefined ? isOwn(object) : !isDirect(object, old)) return good;
  if (collection === "jobs") return refused(forbiddenField("spec", "jobs are made and changed over /api/v3"));
  if (textAt(object, "metadata", "labels", revisionLabel) !== undefined)
    return refused(forbiddenField("spec", "objects of a bundle change with their bundle"));
  const key = textAt(spec, field) ?? "";
  const name = textAt(object, "metadata", "name") ?? "";
  if (old !== undefined && key !== textAt(beforeEdit(old), field))
    return refused(forbiddenField(`spec.${field}`, "the key of an object never changes"));
  if (mayBeNamed(collection, key, name)) return good;
  return refused(invalidValue("metadata.name", name, `expected ${nameOf(key)}, the name for ${field} ${key}`));
}

async function reviewed(collection: Collection, object: JsonObject, { client }: ReviewParts): Promise<Admitted> {
  try {
    await reviewRecord(collection, object, client);
    return good;
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    return refused(...thrown.body.Messages.map((message) => ({ reason: "FieldValueInvalid", field: "spec", message })));
  }
}

/** Objects that a bundle hides, and those of bundles, are the server's to delete. */
async function usesOf(collection: Collection, object: JsonObject, { client }: ReviewParts): Promise<readonly string[]> {
  if (collection === "jobs" || collection === "machines") return [];
  const key = textAt(object, "spec", keyField(collection)) ?? "";
  const world = await worldOf(client, textAt(object, "metadata", "namespace") ?? "");
  if (world.get(collection, key)?.ReadOnly !== false) return [];
  return inUse(collection, key, world)?.Messages ?? [];
}

const preferences: Admission = {
  group,
  kind: Preference.kind,
  coversSchema: false,
  reviews: "others",
  prepareForCreate: (object) => object,
  validate(object) {
    const name = textAt(object, "metadata", "name") ?? "";
    return name === prefsName ? good : refused(invalidValue("metadata.name", name, `expected ${prefsName}`));
  },
  async review(object, { client }) {
    const namespace = textAt(object, "metadata", "namespace") ?? "";
    const values = Object.entries(objectAt(object, "spec", "values") ?? {}).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value]] : [],
    );
    const errors = prefsErrors(Object.fromEntries(values), await worldOf(client, namespace));
    return refused(...errors.map((error) => ({ reason: "FieldValueInvalid", field: "spec.values", message: error })));
  },
};

const isPendingDocument = (object: JsonObject): boolean => objectAt(object, "spec", "sections") !== undefined;

/** What is in force stays so until the new objects are. */
function withLoaded(object: JsonObject, old: JsonObject): JsonObject {
  const { meta, sections } = objectAt(object, "spec") ?? {};
  return { ...object, spec: tidy({ ...objectAt(old, "spec"), meta, sections }) };
}

/** Changes of a bundle are more than its object: the store loads what is written into it. */
const bundles: Admission = {
  group,
  kind: ContentBundle.kind,
  coversSchema: false,
  prepareForCreate(object, writer) {
    if (writer === undefined && isOwn(object)) return object;
    const { status: _dropped, ...rest } = object;
    return rest;
  },
  ownStatus: (status) => status,
  prepareForUpdate: (object, old) =>
    isPendingDocument(object) && isDirect(object, old) ? withLoaded(object, old) : object,
  validate(object, old) {
    if (old === undefined ? isOwn(object) : !isDirect(object, old)) return good;
    if (!isPendingDocument(object))
      return refused(forbiddenField("spec", "give the bundle's objects in sections, or load it over /api/v3/contents"));
    const name = textAt(object, "spec", "meta", "Name") ?? "";
    const expected = nameOf(name);
    return textAt(object, "metadata", "name") === expected
      ? good
      : refused(
          invalidValue(
            "metadata.name",
            textAt(object, "metadata", "name") ?? "",
            `expected ${expected}, for the bundle ${JSON.stringify(name)}`,
          ),
        );
  },
  reviews: "others",
  async review(object, { client }) {
    if (!isPendingDocument(object)) return good;
    const errors = await bundleErrors(object, client);
    return refused(...errors.map((error) => ({ reason: "FieldValueInvalid", field: "spec.sections", message: error })));
  },
};

export const admission: readonly Admission[] = [...collections.map(recordAdmission), preferences, bundles];
