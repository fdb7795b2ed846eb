import { type ModelError, refusal } from "../failure.ts";
import type { Collection } from "../objects.ts";

/** 422 for messages of object validation, each prefixed with the key. */
export const unsoundObject = (collection: Collection, key: string, messages: readonly string[]): ModelError =>
  refusal(422, "ValidationError", collection, key, ...messages.map((message) => `${key}: ${message}`));

export const alreadyExists = (collection: Collection, key: string): ModelError =>
  refusal(409, "CREATE", collection, key, "already exists");
