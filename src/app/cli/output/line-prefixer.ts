const longestLine = 64 * 1024;

/** Puts a label before every line of a byte stream. A line without an end is held back until more comes, up to 64 KiB. */
export class LinePrefixer {
  readonly #label: string;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(label: string) {
    this.#label = label;
  }

  /** Whole lines that are complete now. */
  push(chunk: Uint8Array): string {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    const end = text.length > longestLine ? text.length : text.lastIndexOf("\n") + 1;
    this.#rest = text.slice(end);
    return this.#label === "" ? text.slice(0, end) : this.#labeled(text.slice(0, end));
  }

  /** What is left of a last line that had no end. */
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
