export interface Leadership {
  /** Aborts, with the reason, once another process may lead. */
  readonly lost: AbortSignal;
  /** Lets another process take over at once. Call it after everything has stopped. */
  release(): Promise<void>;
}

export interface Election {
  /** Resolves once this process leads; rejects with the signal's reason. */
  acquire(signal: AbortSignal): Promise<Leadership>;
}

/** For a single process. */
export const alwaysLeader: Election = {
  async acquire(signal) {
    signal.throwIfAborted();
    return { lost: new AbortController().signal, release: () => Promise.resolve() };
  },
};
