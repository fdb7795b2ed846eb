/** Built from `images/worker/Dockerfile`. */
export const workerImage = (version: string): string => `slipway:${version}`;
