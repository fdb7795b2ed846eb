import { createHash } from "node:crypto";
import type { DocumentReply, DocumentRequest } from "../http/documents.ts";

export interface TaggedText {
  readonly text: string;
  /** Unquoted, for `?hash=` and ETags. */
  readonly hash: string;
}

/** SHA-256, cut to 40 hex digits. */
export const tagged = (text: string): TaggedText => ({
  text,
  hash: createHash("sha256").update(text).digest("hex").slice(0, 40).toUpperCase(),
});

/** Answers 304 if `If-None-Match` has the ETag (RFC 9110, 13.1.2). `Vary: Accept`, because a path has several forms. */
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
