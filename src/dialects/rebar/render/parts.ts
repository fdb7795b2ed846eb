import { hash } from "node:crypto";

/** Text that the template module keeps by its hash, so that it is sent once to each thread. */
export interface Part {
  readonly hash: string;
  readonly text: string;
}

export const partOfText = (text: string): Part => ({ hash: hash("sha256", text, "hex"), text });

/** Parts of objects that never change, computed once for each. */
export class Parts {
  readonly #known = new WeakMap<object, Part>();

  /** `shown` is what of the object is sent; default: all. */
  of<T extends object>(object: T, shown: (object: T) => unknown = (same) => same): Part {
    const known = this.#known.get(object);
    if (known !== undefined) return known;
    const part = partOfText(JSON.stringify(shown(object)));
    this.#known.set(object, part);
    return part;
  }
}
