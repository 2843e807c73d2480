# The table of bench/gpu.sh: awk -f pairs.awk OURS THEIRS. Each file has the rows of many processes of
# bench/both.cpp and bench/api.cu, one after the other; the nth row of a name in one file and in the other are a
# pair.
#
# The interval of a median assumes nothing about how times are distributed: the kth least of n pairs is above the
# true median with the probability of less than k heads in n throws of a coin. k is the greatest for which that is
# below 0.0018: 0.05 for a table of 28 rows.
BEGIN { FS = "|"; CHANCE = 0.0018 }
function trim(s) { gsub(/^ +| +$/, "", s); return s }
function sort(a, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = a[i]
        for (j = i - 1; j > 0 && a[j] > x; j--) a[j + 1] = a[j]
        a[j + 1] = x
    }
}
function middle(a, n) { return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2 }
# The k of n pairs; 0: they are too few.
function bound(n,    k, sum, term) {
    term = 0.5 ^ n
    for (k = 0; k < n / 2; k++) {
        sum += term
        if (sum >= CHANCE) break
        term *= (n - k) / (k + 1)
    }
    return k
}
function count(name) { return rows[name, 1] < rows[name, 2] ? rows[name, 1] : rows[name, 2] }
$3 !~ /[0-9]/ { next }
{
    name = trim($2); split(trim($3), value, / +/)
    side = FILENAME == ARGV[1] ? 1 : 2
    if (!(name in unit)) { order[++names] = name; unit[name] = value[2] }
    time[name, side, ++rows[name, side]] = value[1] + 0
}
function column(name, side, n,    i, a) {
    for (i = 1; i <= n; i++) a[i] = time[name, side, i]
    sort(a, n)
    return middle(a, n)
}
END {
    printf "| %-50s | %12s | %12s | %6s | %12s |\n", "call", "Weir's", "NVIDIA's", "ratio", "between"
    print "| --- | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= names; i++) {
        name = order[i]; n = count(name); have = 0
        for (p = 1; p <= n; p++) {
            a = time[name, 1, p]; b = time[name, 2, p]
            if (a > 0 && b > 0) ratio[++have] = unit[name] ~ /\/s$/ ? b / a : a / b # of a rate more is better
        }
        if (have == 0) continue
        sort(ratio, have)
        k = bound(have); low = ratio[k > 0 ? k : 1]; high = ratio[k > 0 ? have + 1 - k : have]
        sum += log(middle(ratio, have)); counted++
        if (low > 1 && k > 0) { dearer++; list = list (list == "" ? "" : ", ") name }
        if (high < 1 && k > 0) cheaper++
        printf "| %-50s | %7.2f %-4s | %7.2f %-4s | %6.2f | %5.2f - %4.2f |\n", name, column(name, 1, n), \
            unit[name], column(name, 2, n), unit[name], middle(ratio, have), low, high
    }
    if (counted)
        printf "geometric mean %.2f; cheaper: %d of %d; dearer: %d%s\n", exp(sum / counted), cheaper, counted, \
            dearer, list == "" ? "" : " (" list ")"
}
