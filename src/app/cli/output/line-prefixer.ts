const longestLine = 64 * 1024;

/**
 * Puts a label before every line of a byte stream, in chunks of any size. Invalid UTF-8 becomes U+FFFD. Holds back at
 * most 64 KiB of an incomplete line. One instance for each stream.
 */
export class LinePrefixer {
  readonly #label: string;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(label: string) {
    this.#label = label;
  }

  /** The lines that are complete now, each with the label. */
  push(chunk: Uint8Array): string {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    const end = text.length > longestLine ? text.length : text.lastIndexOf("\n") + 1;
    this.#rest = text.slice(end);
    return this.#label === "" ? text.slice(0, end) : this.#labeled(text.slice(0, end));
  }

  /** The rest of an incomplete last line, with a line end. Called once, after the last chunk. */
  end(): string {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = "";
    return rest === "" ? "" : `${this.#label}${rest}\n`;
  }

  #labeled(text: string): string {
    if (text === "") return "";
    const isWhole = text.endsWith("\n");
    const lines = (isWhole ? text.slice(0, -1) : text).split("\n");
    return `${lines.map((line) => this.#label + line).join("\n")}\n`;
  }
}
