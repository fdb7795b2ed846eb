import { ApiError } from "#kernel/model/index.ts";

// Content negotiation as kubectl needs it: it asks for a Table first and for JSON last, Go clients for protobuf first. What the server
// does not speak is passed over, never an error, as long as something is left.

/** The forms an answer can have; `partial` is metadata only (`PartialObjectMetadata`). */
export type Form = "json" | "yaml" | "table" | "partial";

/** What the caller asked for, in the form it is to be named in `Content-Type`. */
export interface Negotiated {
  readonly form: Form;
  readonly contentType: string;
}

/** One entry of an Accept header (RFC 9110 12.5.1), its parameters by lower-case name. */
interface Range {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const json: Negotiated = { form: "json", contentType: "application/json" };
/** kubectl sends three; whoever sends thousands gets the first ones looked at. */
const maxRanges = 50;

/**
 * Chooses the answer's form from an Accept header: the first acceptable range of the highest quality, 406 without any. No header, or
 * an empty one, is JSON. Among equal qualities the order counts, which RFC 9110 leaves open and kubectl relies on.
 */
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

/** Never fails: a range that makes no sense is one that nobody speaks. */
function parseRange(text: string): Range {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(rest.map((part) => splitPair(part)));
  // A quality that is no number makes a range worth nothing instead of the header wrong.
  const quality = Number(parameters.get("q") ?? "1");
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 };
}

function splitPair(text: string): [string, string] {
  const at = text.indexOf("=");
  return at < 0 ? [text.toLowerCase(), ""] : [text.slice(0, at).toLowerCase(), text.slice(at + 1).replaceAll('"', "")];
}

/**
 * Undefined for what this server does not speak: protobuf, CBOR, `v1beta1` tables, other groups. `stream=watch` and a charset change
 * nothing. The parameters of an `as` form are repeated in `Content-Type`, by which clients know it.
 */
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
