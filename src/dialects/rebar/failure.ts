import { SlipwayError } from "#lib/base/index.ts";

/** The body of every refusal of `/api/v3`; clients read all five members. */
export interface ModelError {
  readonly Model: string;
  readonly Key: string;
  /**
   * `ValidationError`, `StillInUseError`, `Conflict`, `CREATE`, `AUTH`, `INVOKE`, or an HTTP method. Empty: the
   * listener sets the method.
   */
  readonly Type: string;
  readonly Messages: readonly string[];
  /** The HTTP status. */
  readonly Code: number;
}

/** A refusal on its way to the client. */
export class Refused extends SlipwayError {
  readonly body: ModelError;

  constructor(body: ModelError) {
    super("rebar-refused", body.Messages.join("; "));
    this.body = body;
  }
}

/** 422 for messages of object validation, each prefixed with the key. */
export const unsoundObject = (collection: string, key: string, messages: readonly string[]): ModelError =>
  refusal(422, "ValidationError", collection, key, ...messages.map((message) => `${key}: ${message}`));

export const alreadyExists = (collection: string, key: string): ModelError =>
  refusal(409, "CREATE", collection, key, "already exists");

export const refusal = (
  Code: number,
  Type: string,
  Model: string,
  Key: string,
  ...Messages: readonly string[]
): ModelError => ({ Model, Key, Type, Messages, Code });
