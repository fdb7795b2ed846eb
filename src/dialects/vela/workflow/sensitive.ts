import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

/** Shorter texts would hide half of every message. */
const shortest = 4;
const mostTexts = 200;

/** Hides the texts of secret values in messages. */
export class SecretTexts {
  readonly #texts = new Set<string>();
  #isEmpty = true;

  /** Nothing secret has been seen, not even what is too short to hide. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(value: JsonValue | undefined): void {
    if (value !== undefined && value !== null) this.#isEmpty = false;
    if (this.#texts.size >= mostTexts) return;
    if (typeof value === "string") this.#addText(value);
    else if (Array.isArray(value)) for (const item of value) this.add(item);
    else if (isJsonObject(value)) for (const name of Object.keys(value)) this.add(value[name]);
  }

  /** Data of Secrets are base64. */
  #addText(text: string): void {
    if (text.length >= shortest) this.#texts.add(text);
    if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(text)) return;
    const decoded = Buffer.from(text, "base64").toString("utf8");
    if (decoded.length >= shortest && !decoded.includes("\uFFFD")) this.#texts.add(decoded);
  }

  mask(message: string): string {
    let masked = message;
    for (const text of [...this.#texts].sort((a, b) => b.length - a.length)) masked = masked.replaceAll(text, "***");
    return masked;
  }
}
