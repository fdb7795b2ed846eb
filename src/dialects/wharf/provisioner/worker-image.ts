/** The image of workers where nobody names one: `images/worker/Dockerfile` of this version, as its first lines say how to build it. */
export const workerImage = (version: string): string => `slipway:${version}`;
