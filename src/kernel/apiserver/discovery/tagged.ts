import { createHash } from "node:crypto";
import type { DocumentReply, DocumentRequest } from "../http/documents.ts";

/** A document's text and the hash clients compare it by: equal texts have equal hashes, over restarts and between servers. */
export interface TaggedText {
  readonly text: string;
  /** Without quotes: it goes into `?hash=` as it is, and in quotes into an ETag. */
  readonly hash: string;
}

/** SHA-256, cut to 40 capital hex digits: clients only compare hashes, and they stand in URLs that people read. */
export const tagged = (text: string): TaggedText => ({
  text,
  hash: createHash("sha256").update(text).digest("hex").slice(0, 40).toUpperCase(),
});

/**
 * Answers with a document, or with 304 when the caller has it already: `If-None-Match` names its ETag, weak or strong, or is `*`
 * (RFC 9110, 13.1.2). `Vary: Accept`, because one path has several forms.
 */
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
