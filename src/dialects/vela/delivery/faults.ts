import { messageOf } from "#lib/base/index.ts";

/** Why an object is not delivered, for people. */
export class DeliveryFault extends Error {
  override readonly name = "DeliveryFault";
  /** Whether a definition applied before it may serve the kind later. */
  readonly isUnknownKind: boolean;

  constructor(message: string, isUnknownKind = false) {
    super(message);
    this.isUnknownKind = isUnknownKind;
  }
}

/** The text of a refusal. Rethrows once the pass is aborted: then nothing is known. */
export function faultText(thrown: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  return messageOf(thrown);
}
