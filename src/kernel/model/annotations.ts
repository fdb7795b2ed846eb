/**
 * On a Pod, or the template it is made from: values of variables are kept out of what its containers print and say at their end. Those that
 * come from Secrets, and those that it names, divided by commas; it may be empty.
 */
export const maskAnnotation = "slipway.dev/mask-env";
