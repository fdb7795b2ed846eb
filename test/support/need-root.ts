/** Throws unless this process is root's: a test that is left out would prove nothing. `why` completes "root is required to". */
export function needRoot(why: string): void {
  if (process.getuid?.() === 0) return;
  throw new Error(`root is required to ${why}; run the tests as root, as CI does, or leave this file out`);
}
