import { createHash } from "node:crypto";
import type { DocumentReply, DocumentRequest } from "../http/documents.ts";

/** A document's text and the hash clients compare it by. */
export interface TaggedText {
  readonly text: string;
  readonly hash: string;
}

export const tagged = (text: string): TaggedText => ({
  text,
  hash: createHash("sha256").update(text).digest("hex").slice(0, 40).toUpperCase(),
});

/** Answers with a document, or with 304 when the caller has it already. */
export function taggedReply(
  { text, hash }: TaggedText,
  request: DocumentRequest,
  contentType: string,
  headers: Readonly<Record<string, string>> = {},
): DocumentReply {
  const etag = `"${hash}"`;
  const all = { "Content-Type": contentType, ETag: etag, Vary: "Accept", ...headers };
  const known = (request.ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return known.includes(etag) || known.includes("*")
    ? { code: 304, headers: all, body: "" }
    : { code: 200, headers: all, body: text };
}
