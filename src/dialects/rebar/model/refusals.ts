import { type ModelError, refusal } from "../failure.ts";
import type { Collection } from "../objects.ts";

/** 422 with messages of object validation, which clients expect with the key in front. */
export const unsoundObject = (collection: Collection, key: string, messages: readonly string[]): ModelError =>
  refusal(422, "ValidationError", collection, key, ...messages.map((message) => `${key}: ${message}`));

export const alreadyExists = (collection: Collection, key: string): ModelError =>
  refusal(409, "CREATE", collection, key, "already exists");

/** The type is the HTTP method: the listener puts it there. */
export const notFound = (collection: Collection, key: string): ModelError =>
  refusal(404, "", collection, key, "Not Found");
