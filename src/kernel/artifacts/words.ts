import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

// Annotations of Pods with artifacts. The creator of a Pod writes the first two; its runner writes the third before the
// Pod counts as Succeeded.

/** What a Pod takes: JSON of a list of `TakenArtifact`. */
export const takesAnnotation = "slipway.dev/takes-artifacts";
/** What a Pod leaves: JSON of a list of `ArtifactWish`. */
export const leavesAnnotation = "slipway.dev/leaves-artifacts";
/** What a succeeded Pod has left: JSON of a `LeftRecord`. */
export const leftAnnotation = "slipway.dev/left-artifacts";
/** Label `true` of Nodes whose runner understands the annotations. */
export const carriesLabel = "slipway.dev/carries-artifacts";
/** The directory of a Pod's artifacts, as its containers see it. */
export const directoryVariable = "SLIPWAY_ARTIFACTS";

export interface StoredArtifact {
  /** `sha256:` and 64 hexadecimal digits of the stored bytes. */
  readonly digest: string;
  readonly size: number;
  /** Absent: a single file. */
  readonly archive?: "tar.gz";
  /** Of a single file; archives hold modes. */
  readonly executable?: true;
}

/** Put into a Pod's directory before its first container starts. */
export interface TakenArtifact extends StoredArtifact {
  readonly name: string;
  /** Below the directory. */
  readonly path: string;
}

/** Stored from a Pod's directory after its success. */
export interface ArtifactWish {
  readonly name: string;
  readonly path: string;
  /** Its absence is no failure. */
  readonly optional?: boolean;
  /** Default: `tar.gz` for directories, `none` for files. */
  readonly archive?: "none" | "tar.gz";
}

/** The stored artifacts, or the first problem. */
export interface LeftRecord {
  /** Of the Pod: a template's author cannot know it. */
  readonly uid: string;
  readonly artifacts?: Readonly<Record<string, StoredArtifact>>;
  readonly problem?: { readonly reason: string; readonly message: string };
}

type Annotations = Readonly<Record<string, string>> | undefined;

/** Throws if the annotation is invalid. */
export const readTakes = (annotations: Annotations): readonly TakenArtifact[] =>
  readList(annotations, takesAnnotation, isTaken);

/** Throws if the annotation is invalid. */
export const readLeaves = (annotations: Annotations): readonly ArtifactWish[] =>
  readList(annotations, leavesAnnotation, isWish);

/** What the Pod of this uid has left; undefined while it is unknown. */
export function readLeft(annotations: Annotations, uid: string): LeftRecord | undefined {
  const value = parse(annotations?.[leftAnnotation] ?? "null");
  if (!isJsonObject(value) || value["uid"] !== uid) return undefined;
  const { artifacts, problem } = value;
  if (isJsonObject(problem)) {
    const { reason, message } = problem;
    const isTold = typeof reason === "string" && typeof message === "string";
    return { uid, problem: isTold ? { reason, message } : { reason: "ArtifactFailed", message: "" } };
  }
  return isJsonObject(artifacts) ? { uid, artifacts: storedIn(artifacts) } : undefined;
}

/** The artifacts of a record by name; invalid ones are skipped. */
export const storedIn = (value: Readonly<Record<string, JsonValue | undefined>>): Record<string, StoredArtifact> =>
  Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (isStored(one) ? [[name, one]] : [])));

/** A relative path without special parts: it stays below its directory. */
export const isInnerPath = (path: string): boolean =>
  path !== "" &&
  path.length <= 1024 &&
  !path.includes("\0") &&
  path.split("/").every((part) => part !== "" && part !== "." && part !== "..");

const digestShape = /^sha256:[0-9a-f]{64}$/;
/** Only such texts become part of a path. */
export const isDigest = (text: unknown): text is string => typeof text === "string" && digestShape.test(text);
export const digestsIn = (text: string): readonly string[] => text.match(/sha256:[0-9a-f]{64}/g) ?? [];

const isStored = (value: unknown): value is StoredArtifact =>
  isRecord(value) && isDigest(value["digest"]) && typeof value["size"] === "number";

const isNamed = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value["name"] === "string" &&
  typeof value["path"] === "string" &&
  isInnerPath(value["path"]);

const isTaken = (value: unknown): value is TakenArtifact => isNamed(value) && isStored(value);
const isWish = (value: unknown): value is ArtifactWish => isNamed(value);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

function readList<T>(annotations: Annotations, name: string, is: (value: unknown) => value is T): readonly T[] {
  const text = annotations?.[name];
  if (text === undefined) return [];
  const list = parse(text);
  if (Array.isArray(list)) {
    const items: readonly unknown[] = list;
    if (items.every(is)) return items;
  }
  throw new Error(`the annotation ${name} is no list of artifacts with inner paths`);
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}
