import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

// What a Pod that takes and leaves artifacts says, in annotations. Whoever makes the Pod writes the first two; whoever runs it answers
// with the third before the Pod counts as Succeeded. Nothing else is known between the two.

/** On a Pod: what it takes, as the JSON of a list of `TakenArtifact`. */
export const takesAnnotation = "slipway.dev/takes-artifacts";
/** On a Pod: what it leaves, as the JSON of a list of `ArtifactWish`. */
export const leavesAnnotation = "slipway.dev/leaves-artifacts";
/** On a Pod that has ended well: what it has left, as the JSON of a `LeftRecord`. */
export const leftAnnotation = "slipway.dev/left-artifacts";
/** Label `true` of Nodes whose Pods are run by somebody who understands the annotations. */
export const carriesLabel = "slipway.dev/carries-artifacts";
/** The variable that names the directory of a Pod's artifacts, as its containers see it. */
export const directoryVariable = "SLIPWAY_ARTIFACTS";

/** Bytes in the store, and what they were. */
export interface StoredArtifact {
  /** `sha256:` and 64 hexadecimal digits: of the bytes as they are stored. */
  readonly digest: string;
  /** Bytes as they are stored. */
  readonly size: number;
  /** Absent: a file as it was. */
  readonly archive?: "tar.gz";
  /** A file that may be run; archives know it of each of theirs. */
  readonly executable?: true;
}

/** What is put into a Pod's directory before its first container starts. */
export interface TakenArtifact extends StoredArtifact {
  readonly name: string;
  /** Below the directory. */
  readonly path: string;
}

/** What is stored of a Pod's directory when it has succeeded. */
export interface ArtifactWish {
  readonly name: string;
  readonly path: string;
  /** That it is not there is no failure. */
  readonly optional?: boolean;
  /** Absent: `tar.gz` for directories, `none` for files. */
  readonly archive?: "none" | "tar.gz";
}

/** What became of the wishes: all of them, or the first reason why not. */
export interface LeftRecord {
  /** Of the Pod: nobody who writes a template can know it. */
  readonly uid: string;
  readonly artifacts?: Readonly<Record<string, StoredArtifact>>;
  readonly problem?: { readonly reason: string; readonly message: string };
}

type Annotations = Readonly<Record<string, string>> | undefined;

/** What a Pod takes; throws a sentence for people where the annotation is no such list. */
export const readTakes = (annotations: Annotations): readonly TakenArtifact[] =>
  readList(annotations, takesAnnotation, isTaken);

/** What a Pod leaves; throws as `readTakes`. */
export const readLeaves = (annotations: Annotations): readonly ArtifactWish[] =>
  readList(annotations, leavesAnnotation, isWish);

/** What the Pod of this uid has left; undefined while nobody has answered. */
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

/** The artifacts of a record by name; what is none is left out. */
export const storedIn = (value: Readonly<Record<string, JsonValue | undefined>>): Record<string, StoredArtifact> =>
  Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (isStored(one) ? [[name, one]] : [])));

/** A relative path of ordinary parts: what stands below a directory and nowhere else. */
export const isInnerPath = (path: string): boolean =>
  path !== "" &&
  path.length <= 1024 &&
  !path.includes("\0") &&
  path.split("/").every((part) => part !== "" && part !== "." && part !== "..");

const digestShape = /^sha256:[0-9a-f]{64}$/;
/** Whether a text can name stored bytes; no other text becomes part of a path. */
export const isDigest = (text: unknown): text is string => typeof text === "string" && digestShape.test(text);

/** Every digest that a text mentions. */
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
