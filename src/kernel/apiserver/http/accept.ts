import { ApiError } from "#kernel/model/index.ts";

// kubectl asks for a Table first, Go clients for protobuf. Forms this server does not have are skipped.

/** The forms of an answer; `partial` is metadata only (`PartialObjectMetadata`). */
export type Form = "json" | "yaml" | "table" | "partial";

/** The chosen form and its `Content-Type`. */
export interface Negotiated {
  readonly form: Form;
  readonly contentType: string;
}

interface Range {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const json: Negotiated = { form: "json", contentType: "application/json" };
/** kubectl sends three. */
const maxRanges = 50;

/** 406 when none is acceptable, JSON without a header. Order decides among equal qualities: kubectl relies on it. */
export function negotiate(accept: string | undefined): Negotiated {
  if (accept === undefined || accept.trim() === "") return json;
  const ranges = accept.split(",").slice(0, maxRanges).map(parseRange);
  const ordered = ranges.filter(({ quality }) => quality > 0).sort((a, b) => b.quality - a.quality);
  for (const range of ordered) {
    const form = formOf(range);
    if (form !== undefined) return form;
  }
  throw new ApiError(
    "NotAcceptable",
    "only the following media types are accepted: application/json, application/yaml, application/json;stream=watch",
  );
}

function parseRange(text: string): Range {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(rest.map((part) => splitPair(part)));
  // A quality that is no number disables the range.
  const quality = Number(parameters.get("q") ?? "1");
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 };
}

function splitPair(text: string): [string, string] {
  const at = text.indexOf("=");
  return at < 0 ? [text.toLowerCase(), ""] : [text.slice(0, at).toLowerCase(), text.slice(at + 1).replaceAll('"', "")];
}

/** Undefined for forms not served. `Content-Type` repeats the parameters of an `as` form, as clients expect. */
function formOf({ type, parameters }: Range): Negotiated | undefined {
  if (type === "application/yaml") return { form: "yaml", contentType: "application/yaml" };
  if (type === "*/*" || type === "application/*") return json;
  if (type !== "application/json") return undefined;
  const as = parameters.get("as");
  if (as === undefined) return json;
  if (parameters.get("g") !== "meta.k8s.io" || parameters.get("v") !== "v1") return undefined;
  const form =
    as === "Table"
      ? "table"
      : as === "PartialObjectMetadata" || as === "PartialObjectMetadataList"
        ? "partial"
        : undefined;
  return form && { form, contentType: `application/json;as=${as};v=v1;g=meta.k8s.io` };
}
