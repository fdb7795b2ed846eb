/** The right to act. */
export interface Leadership {
  /** Aborts, with the reason, once another process may lead. Never for an only process. */
  readonly lost: AbortSignal;
  /** Gives the right back so that another process takes over at once. Call it after everything has stopped. */
  release(): Promise<void>;
}

/** Decides which of several equal processes acts. */
export interface Election {
  /** Resolves once this process leads; rejects with the signal's reason when that aborts first. */
  acquire(signal: AbortSignal): Promise<Leadership>;
}

/** For the only process there is: leads at once and for ever. */
export const alwaysLeader: Election = {
  async acquire(signal) {
    signal.throwIfAborted();
    return { lost: new AbortController().signal, release: () => Promise.resolve() };
  },
};
