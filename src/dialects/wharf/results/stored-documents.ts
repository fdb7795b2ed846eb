import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { codeOf, type JsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import { contentTypeOf } from "./artifact-name.ts";
import { type Artifact, type StatusUpdate, type StepStatus, stepStatuses } from "./build-document.ts";
import { resultsError } from "./errors.ts";
import { statusOfRfc } from "./status-numbers.ts";

// Files of this worker and of earlier ones: missing optional values are filled in, invalid ones are errors with file
// and place.

const mostBytes = 64 * 1024 * 1024;

export async function readDocument(path: string): Promise<JsonObject | undefined> {
  const text = await readFile(path, "utf8").catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return undefined;
    throw resultsError("results-invalid", `cannot read ${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
  if (text === undefined) return undefined;
  if (text.length > mostBytes) throw invalid(path, "", `at most ${mostBytes} bytes`, text.length);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (thrown) {
    throw resultsError("results-invalid", `${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
  return objectIn(path, "", value);
}

/** Renumbered, because earlier workers left ids out. */
export function statusUpdatesIn(path: string, document: JsonObject): readonly StatusUpdate[] {
  return listIn(path, "statusUpdates", document["statusUpdates"]).map((item, at) => {
    const place = `statusUpdates[${at}]`;
    const { status, statusId, timestamp } = objectIn(path, place, item);
    return {
      updateId: at + 1,
      timestamp: typeof timestamp === "string" ? timestamp : "",
      status: statusIn(path, place, status ?? statusId),
    };
  });
}

/** A status word, or a number of RFC-0025. */
function statusIn(path: string, place: string, value: JsonValue | undefined): StepStatus {
  const found = typeof value === "number" ? statusOfRfc(value) : stepStatuses.find((status) => status === value);
  if (found !== undefined) return found;
  throw invalid(path, `${place}.status`, `0 to 3 or one of ${stepStatuses.join(", ")}`, value);
}

export function artifactsIn(path: string, stepId: number, document: JsonObject): readonly Artifact[] {
  const key = document["artifacts"] === undefined ? "artifactEvents" : "artifacts";
  return listIn(path, key, document[key]).map((item, at) => {
    const place = `${key}[${at}]`;
    const { artifactId, name, path: file, size, sha256, contentType, testResults } = objectIn(path, place, item);
    if (typeof name !== "string" || name === "") throw invalid(path, `${place}.name`, "a text", name);
    const id = typeof artifactId === "number" ? artifactId : at + 1;
    return {
      artifactId: id,
      stepId,
      name,
      path: pathIn(path, `${place}.path`, file ?? `artifacts/${id}_${name}`),
      size: typeof size === "number" ? size : Number.NaN,
      ...(typeof sha256 === "string" ? { sha256 } : {}),
      contentType: typeof contentType === "string" ? contentType : contentTypeOf(name),
      testResults: testResults === true,
    };
  });
}

/** A foreign store must not name files outside of it. */
function pathIn(path: string, place: string, value: JsonValue): string {
  if (typeof value === "string" && !value.includes("\0") && !value.includes("\\")) {
    const clean = posix.normalize(value);
    if (/^artifacts\/[^/]+$/.test(clean) && !/\/\.\.?$/.test(clean)) return clean;
  }
  throw invalid(path, place, "a file in artifacts/", value);
}

function listIn(path: string, place: string, value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw invalid(path, place, "a list", value);
}

function objectIn(path: string, place: string, value: JsonValue | undefined): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw invalid(path, place, "an object", value);
}

export function invalid(path: string, place: string, expected: string, found: unknown): Error {
  const text = (JSON.stringify(found) ?? "nothing").slice(0, 80);
  return resultsError(
    "results-invalid",
    `${path}: ${place === "" ? "" : `${place}: `}expected ${expected}, found ${text}`,
  );
}
