/** What a rendering asks for. */
export interface Needs {
  readonly parts?: readonly string[];
  readonly params?: readonly string[];
  readonly composed?: readonly string[];
  readonly tokens?: readonly string[];
  readonly templates?: readonly string[];
  readonly machineParams?: boolean;
  readonly info?: boolean;
}

/** Names kept of one object; names that are computed can be different for every machine. */
const maxNames = 2000;

/** What renderings of one object have asked for, so that the next one gets it at once. */
export class Learned {
  readonly params = new Set<string>();
  readonly composed = new Set<string>();
  readonly tokens = new Set<string>();
  readonly templates = new Set<string>();
  needsMachineParams = false;
  needsInfo = false;

  get isFull(): boolean {
    return this.params.size + this.composed.size + this.tokens.size + this.templates.size > maxNames;
  }

  learn(needs: Needs): void {
    for (const name of needs.params ?? []) this.params.add(name);
    for (const name of needs.composed ?? []) this.composed.add(name);
    for (const name of needs.tokens ?? []) this.tokens.add(name);
    for (const name of needs.templates ?? []) this.templates.add(name);
    this.needsMachineParams ||= needs.machineParams === true;
    this.needsInfo ||= needs.info === true;
  }
}
