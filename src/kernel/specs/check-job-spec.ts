import { type FieldPath, formatFieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type FieldError } from "#lib/schema/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import { definition, definitionNames } from "./definitions.ts";
import { noFindings, withoutRepetition } from "./findings.ts";
import { withJobSpecDefaults } from "./job-defaults.ts";
import { checkJobRules } from "./job-rules.ts";
import { isPlainJobSpec } from "./plain-job-spec.ts";

/** Findings about a Job's spec. Fields are named from the caller's path. */
export interface JobSpecFindings {
  /** What every Kubernetes refuses: wrong types, values out of range, missing or contradicting fields. */
  readonly causes: readonly StatusCause[];
  /** What only the embedded server refuses, such as hostPID or a csi volume. */
  readonly unsupported: readonly StatusCause[];
  /** Unknown fields. They are dropped, or refused under strict field validation. */
  readonly unknown: readonly string[];
  /** Fields without effect on the embedded server, as `field: why`. */
  readonly warnings: readonly string[];
}

/**
 * Reports everything for which a Job with this spec would be refused, in the API server's words. Used for documents
 * that contain Jobs. Fills in defaults first, never throws, and reports all errors, at most 100 of them from the
 * schema. `at` is prepended to every field. `isOpen` marks texts whose value is known only later (`${{ params.count
 * }}`): they, and what depends on them, are not judged.
 *
 * `checkJobSpec({ backoffLimit: "two", template }, ["spec", "job"])` finds the cause `{reason: "FieldValueTypeInvalid",
 * field: "spec.job.backoffLimit", …}`.
 */
export function checkJobSpec(
  spec: JsonObject,
  at: FieldPath,
  { isOpen = () => false }: { readonly isOpen?: (text: string) => boolean } = {},
): JobSpecFindings {
  return isPlainJobSpec(spec) ? nothing : judgeJobSpec(spec, at, isOpen);
}

const nothing: JobSpecFindings = { causes: [], unsupported: [], unknown: [], warnings: [] };

/** As `checkJobSpec`, without its shortcut for plain specs. */
export function judgeJobSpec(spec: JsonObject, at: FieldPath, isOpen: (text: string) => boolean): JobSpecFindings {
  const schema = jobSpecSchema();
  const pruned = schema.prune(spec);
  const filled = withJobSpecDefaults(objectOf(schema.withDefaults(objectOf(pruned.value))));
  const byType = schema.validate(filled, { at });
  const found = noFindings();
  // Rules treat values of a wrong type as absent; what they conclude from that is dropped below.
  checkJobRules(filled, at, found);
  const isFaultless = byType.length + found.errors.length + found.unsupported.length === 0;
  const open = isFaultless ? [] : openPlaces(filled, at, isOpen);
  const typeErrors = byType.filter(({ field }) => !open.some((place) => isWithin(field, place)));
  const undecided = [...open, ...typeErrors.filter(isWrongType).map(({ field }) => field)];
  const decided = (errors: readonly FieldError[]) => errors.filter((error) => !dependsOn(error, undecided));
  return {
    causes: withoutRepetition([...typeErrors, ...decided(found.errors)]),
    unsupported: decided(found.unsupported),
    unknown: pruned.unknown.map((path) => below(at, path)),
    warnings: [...new Set(found.warnings)],
  };
}

let compiled: CompiledSchema | undefined;

/** Compiled for the first Job: most commands never see one. */
function jobSpecSchema(): CompiledSchema {
  compiled ??= compileSchema({ $ref: definitionNames.jobSpec }, { resolve: definition });
  return compiled;
}

const objectOf = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});
const isWrongType = ({ reason }: FieldError): boolean => reason === "FieldValueTypeInvalid";

/** Paths of all open texts, in Kubernetes' notation. */
function openPlaces(value: JsonValue | undefined, at: FieldPath, isOpen: (text: string) => boolean): readonly string[] {
  if (typeof value === "string") return isOpen(value) ? [formatFieldPath(at)] : [];
  if (typeof value !== "object" || value === null) return [];
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonObject(value)
    ? Object.entries(value)
    : [...value.entries()];
  return members.flatMap(([name, member]) => openPlaces(member, [...at, name], isOpen));
}

/** A path of the pruned value as a path of the document. */
function below(at: FieldPath, path: string): string {
  const parent = formatFieldPath(at);
  return parent === "" || path.startsWith("[") ? `${parent}${path}` : `${parent}.${path}`;
}

/** Whether a field is the place or inside it, in Kubernetes' notation. */
const isWithin = (field: string, place: string): boolean =>
  field === place || field.startsWith(`${place}.`) || field.startsWith(`${place}[`);

const volume = /\.template\.spec\.volumes(?:\[\d+\](?:\.name)?)?$/;
const container = /\.template\.spec\.(?:initC|c)ontainers(?:\[\d+\](?:\.name)?)?$/;

/**
 * Whether a value for an undecided place could remove the error: the error concerns the place, its object ("exactly one
 * of …"), or a name that the place may turn out to have.
 */
function dependsOn({ field, reason }: FieldError, undecided: readonly string[]): boolean {
  const isMember = (place: string) =>
    isWithin(place, field) && /^(?:\.[^.[\]]+|\[[^\]]*\])$/.test(place.slice(field.length));
  const names = reason === "FieldValueNotFound" ? volume : field.endsWith(".containerName") ? container : undefined;
  return undecided.some(
    (place) => isWithin(field, place) || isMember(place) || (names !== undefined && names.test(place)),
  );
}
