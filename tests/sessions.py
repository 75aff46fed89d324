"""How the tests' sessions of Spark are set, so that planning, which takes nearly all of their time, takes the least."""

from __future__ import annotations

CONNECT = "org.apache.spark.sql.connect.SparkConnectPlugin"  # the server of Spark Connect, inside the driver
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # these processes do not live long enough to be optimised
SPARK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # compiling a plan takes longer than running it on three rows
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Adaptive execution plans anew after every stage; the cluster still has it.
ONE_PROCESS = SPARK | {"spark.default.parallelism": "2", "spark.sql.adaptive.enabled": "false"}
