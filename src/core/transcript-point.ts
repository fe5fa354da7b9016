/** A point in a transcript whose user went back. */
export interface TranscriptPoint {
  /** The external ids of the messages before it, newest first. */
  before: Iterable<string>;
  /** True for a message of the transcript that is not on the path to this point. */
  isElsewhere(externalId: string): boolean;
  /** True for a message of the transcript, on any path. */
  isInTranscript(externalId: string): boolean;
  /** True at the end of the transcript. If the session goes on with messages of its own from there, it does not go back. */
  isEnd: boolean;
}
